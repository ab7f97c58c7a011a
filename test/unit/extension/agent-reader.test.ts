import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { AgentReader } from '../../../src/agents/scan/agent-reader.ts';

const agent = 'from agent_trainer import rollout\n@rollout\ndef solve(task): ...\n';

describe('the thread that finds agents', () => {
  let folder = '';
  let reader: AgentReader;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'agent-trainer-reader-'));
    await build({ entryPoints: [join(import.meta.dirname, '..', '..', '..', 'src', 'agents', 'scan', 'worker.ts')], outfile: join(folder, 'worker.cjs'), bundle: true, platform: 'node', format: 'cjs', logLevel: 'warning' });
    writeFileSync(join(folder, 'a.py'), agent);
    reader = new AgentReader(join(folder, 'worker.cjs'));
  });
  after(() => {
    reader.dispose();
    rmSync(folder, { recursive: true, force: true });
  });
  const folders = (): { path: string; exclude: Record<string, boolean> }[] => [{ path: folder, exclude: {} }];

  it('answers several questions at once, each with its own answer', async () => {
    const [scan, text, none, look] = await Promise.all([
      reader.scan(folders()), reader.read('b.py', agent.replace('solve', 'other')), reader.read('b.md', agent), reader.look(folders(), [{ path: join(folder, 'a.py'), text: null }]),
    ]);
    assert.deepEqual(scan.found.map(({ agents }) => agents[0]?.name), ['solve']);
    assert.deepEqual(text.map(({ name }) => name), ['other']);
    assert.deepEqual(none, []);
    assert.deepEqual(look.found.map(({ path }) => path), [join(folder, 'a.py')]);
  });

  it('stops a scan when it is told to, and goes on with the next', async () => {
    for (let i = 0; i < 300; i++) writeFileSync(join(folder, `many_${i}.py`), agent + 'x = [1, 2, 3]\n'.repeat(2000));
    const abort = new AbortController();
    const scan = reader.scan(folders(), abort.signal);
    abort.abort();
    await assert.rejects(scan, { code: 'cancelled' });
    assert.deepEqual((await reader.read('b.py', agent)).length, 1);
  });

  it('fails what was asked of a thread that dies', async () => {
    const lost = new AgentReader(join(folder, 'missing.cjs'));
    await assert.rejects(lost.read('a.py', agent), { code: 'internal' });
    await assert.rejects(lost.scan(folders()), { code: 'internal' });
    lost.dispose();
  });

  it('fails what was asked when it is disposed', async () => {
    const closed = new AgentReader(join(folder, 'worker.cjs'));
    const asked = closed.scan(folders());
    closed.dispose();
    await assert.rejects(asked, { code: 'cancelled' });
  });
});
