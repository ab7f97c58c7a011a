import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolveAgent } from '../../../trainer/runner/agent-spec.ts';

describe('resolveAgent', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'agent-spec-'));
    const files = {
      'one.py': 'from agent_trainer import rollout\n\n@rollout\nasync def only(task):\n    return 1\n',
      'two.py': 'import agent_trainer\n@agent_trainer.rollout\n@cached\ndef first(task): ...\n@rollout\ndef second(task): ...\n',
      'one.ts': 'export const only = rollout(async () => 1);\n',
      'two.ts': 'export const first: Agent = rollout(() => 1);\nexport const second = rollout<Task>(() => 1);\nconst third = rollout(() => 1);\n',
      'none.py': 'def f(task): ...\n',
      'notes.txt': '',
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  });
  after(() => rmSync(folder, { recursive: true }));

  it('reads path and name', () => {
    assert.deepEqual(resolveAgent('one.py', folder), { language: 'python', file: join(folder, 'one.py'), name: null });
    assert.deepEqual(resolveAgent('./two.ts:second', folder), { language: 'node', file: join(folder, 'two.ts'), name: 'second' });
    assert.equal(resolveAgent(`${join(folder, 'two.ts')}:Class.method`, '/').name, 'Class.method');
    assert.equal(resolveAgent('none.py', folder).name, null);
  });

  it('wants a choice between several agents and names them', () => {
    for (const file of ['two.py', 'two.ts']) {
      assert.throws(() => resolveAgent(file, folder), { code: 'bad_input', message: new RegExp(`${file} has several agents \\(first, second\\).*${file}:first`) });
    }
  });

  it('names the file that is missing or of another kind', () => {
    assert.throws(() => resolveAgent('lost.py:agent', folder), { code: 'bad_input', message: /There is no agent file .*lost\.py\. / });
    assert.throws(() => resolveAgent('notes.txt', folder), { code: 'bad_input', message: /notes\.txt is neither/ });
    assert.throws(() => resolveAgent('.', folder), { code: 'bad_input' });
  });

  it('does not take a drive letter for a name', () => {
    assert.throws(() => resolveAgent('C:\\agents\\a.py', folder), { message: /C:\\agents\\a\.py/ });
  });
});
