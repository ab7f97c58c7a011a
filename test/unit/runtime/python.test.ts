import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { findPython } from '../../../trainer/runner/interpreters.ts';

describe('runtime/python', function () {
  this.timeout(60_000);

  it('passes its own tests', async () => {
    const { command } = await findPython(undefined, '/');
    const folder = fileURLToPath(new URL('python/', import.meta.url));
    const result = spawnSync(command, ['-m', 'unittest', 'discover', '-v', '-s', folder], {
      encoding: 'utf8', env: { ...process.env, PYTHONPATH: fileURLToPath(new URL('../../../runtime/python', import.meta.url)) },
    });
    assert.equal(result.status, 0, result.stderr);
    assert.match(result.stderr, /Ran \d\d tests/);
  });

  it('imports nothing but the standard library', async () => {
    const { command } = await findPython(undefined, '/');
    const script = 'import sys; sys.path.insert(0, sys.argv[1]); import agent_trainer, agent_trainer.worker; print(agent_trainer.LLM("e", "m").get_base_url())';
    const out = execFileSync(command, ['-I', '-S', '-c', script, fileURLToPath(new URL('../../../runtime/python', import.meta.url))], { encoding: 'utf8' });
    assert.equal(out, 'e\n');
  });
});
