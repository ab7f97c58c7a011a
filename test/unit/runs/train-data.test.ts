import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { compare } from '../../../trainer/evaluation/compare.ts';
import { TrainConfig } from '../../../trainer/protocol/config.ts';
import { describeComparison } from '../../../trainer/runs/describe-comparison.ts';
import { loadTrainData, loadValidation } from '../../../trainer/runs/train-data.ts';

describe('data of a training run', () => {
  let folder: string;
  beforeEach(() => { folder = mkdtempSync(path.join(tmpdir(), 'data-')); });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const write = (name: string, questions: number[]) => writeFileSync(path.join(folder, name), questions.map((question) => JSON.stringify({ question })).join('\n'));
  const load = (data: object) => loadTrainData(TrainConfig.parse({ agent: 'a.py', model: { path: 'p' }, data }), folder);
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

  it('splits one file, the same way each time', async () => {
    write('all.jsonl', range(0, 20));
    const { train, validation, warnings } = await load({ train: 'all.jsonl', validation_share: 0.25 });
    assert.deepEqual([train.length, validation.length], [15, 5]);
    assert.deepEqual(warnings, []);
    assert.deepEqual((await load({ train: 'all.jsonl', validation_share: 0.25 })).validation, validation);
  });

  it('an evaluation gets the same validation tasks as the comparison after a training', async () => {
    write('all.jsonl', range(0, 20));
    write('heldout.jsonl', range(20, 23));
    for (const [data, file] of [[{ train: 'all.jsonl', limit: 3 }, 'all.jsonl'], [{ train: 'all.jsonl', validation: 'heldout.jsonl' }, 'heldout.jsonl']] as const) {
      const config = TrainConfig.parse({ agent: 'a.py', model: { path: 'p' }, data, seed: 5 });
      assert.deepEqual(await loadValidation(config, folder), { file: path.join(folder, file), tasks: (await loadTrainData(config, folder)).validation });
    }
  });

  it('limits each side, and warns of tasks on both', async () => {
    write('train.jsonl', range(0, 10));
    write('heldout.jsonl', range(8, 14));
    const { train, validation, warnings } = await load({ train: 'train.jsonl', validation: 'heldout.jsonl' });
    assert.deepEqual([train.length, validation.length], [10, 6]);
    assert.equal(warnings.length, 2);
    const limited = await load({ train: 'train.jsonl', validation: 'heldout.jsonl', limit: 3 });
    assert.deepEqual([limited.train.length, limited.validation.length, limited.warnings.length], [3, 3, 0]);
  });

  it('the fingerprint changes with any task, not with the file name', async () => {
    write('train.jsonl', range(0, 10));
    write('same.jsonl', range(0, 10));
    write('other.jsonl', [...range(0, 9), 99]);
    const of = async (train: string) => (await load({ train })).fingerprint;
    assert.equal(await of('same.jsonl'), await of('train.jsonl'));
    assert.notEqual(await of('other.jsonl'), await of('train.jsonl'));
  });
});

describe('a comparison in words', () => {
  const scores = (rewards: (number | null)[]) => rewards.map((reward, i) => ({ task_id: `t${i}`, reward }));

  it('names verdict, interval, tasks won and lost, tasks left out', () => {
    assert.equal(describeComparison(compare(scores([0, 0, 0, 0, 0, 0, null]), scores([1, 1, 1, 1, 1, 1, 1]))),
      'Verdict: better. Difference 1.000, 95 % interval 1.000 to 1.000; 6 task(s) won, 0 lost, 0 equal; 1 task(s) without a score on a side left out.');
    assert.match(describeComparison(compare(scores([0, 0]), scores([0, 0]))), /^Verdict: no difference shown\. /);
    assert.match(describeComparison(compare(scores([0, 1, 0, 1]), scores([1, 0, 0, 1]))), /^Verdict: no difference shown \(one of 1\.144 or more would probably have been\)\. Difference 0\.000/);
    assert.match(describeComparison(compare([], [])), /^Fewer than two tasks/);
  });
});
