import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { datasetsOf } from '../../../src/diagnostics/find-datasets.ts';
import { check, fixed, marked, python, script } from './support.ts';

const rows = '{"question": "a", "answer": "b"}\n{"question": "c", "answer": "d"}\n';

describe('diagnostic: a dataset whose rows do not match', () => {
  it('finds a field that no row has, and offers the one that is meant', async () => {
    const text = python('return score(task["questoin"], task["answer"])');
    assert.deepEqual(await marked('dataset-fields', 'a.py', text, rows), ['"questoin"']);
    assert.match(await fixed('dataset-fields', 'a.py', text, rows), /task\["question"\]/);
  });

  it('finds it in TypeScript, read or taken apart', async () => {
    assert.match(await fixed('dataset-fields', 'a.ts', script('return score(task.Question);'), rows), /task\.question\)/);
    assert.match(await fixed('dataset-fields', 'a.ts', script('const { anwser } = task;\nreturn score(anwser);'), rows), /\{ answer: anwser \} = task/);
  });

  it('leaves alone what may be missing, and agents whose data is not known', async () => {
    assert.deepEqual(await marked('dataset-fields', 'a.py', python('return score(task.get("hint"), task["question"])'), rows), []);
    assert.deepEqual(await marked('dataset-fields', 'a.ts', script('return score(task.hint ?? 1, task?.more);'), rows), []);
    assert.deepEqual(await marked('dataset-fields', 'a.py', python('return score(task["anything"])')), []);
  });

  it('marks the rows that lack a field or are not JSON', async () => {
    const data = '{"question": "a", "answer": "b"}\n\n{"question": "c"}\n[1]\n{"question": \n';
    const { rows: found } = await check('a.py', python('return score(task["question"], task["answer"])'), data);
    assert.deepEqual(found[0]?.findings.map(({ from, to }) => data.slice(from, to)), ['{"question": "c"}', '[1]', '{"question": ']);
    assert.match(found[0]?.findings[0]?.message ?? '', /agent reads “answer”, which this row does not have/);
  });

  it('finds the data of an agent: configured for it, else the only file beside it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'agent-trainer-datasets-'));
    try {
      mkdirSync(join(folder, 'data'));
      writeFileSync(join(folder, 'data', 'train.jsonl'), rows);
      const names = async (agent: string): Promise<string[]> => (await datasetsOf(join(folder, 'agent.py'), agent, folder)).map(({ name }) => name);
      assert.deepEqual(await names('a'), ['data/train.jsonl']);
      writeFileSync(join(folder, 'data', 'test.jsonl'), rows);
      assert.deepEqual(await names('a'), [], 'of two files nobody knows which');
      writeFileSync(join(folder, 'agent-trainer.json'), JSON.stringify({ agent: 'agent.py:a', data: { train: 'data/train.jsonl', validation: 'data/test.jsonl' }, model: { path: 'm' } }));
      assert.deepEqual(await names('a'), ['data/train.jsonl', 'data/test.jsonl']);
      assert.deepEqual(await names('b'), []);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
