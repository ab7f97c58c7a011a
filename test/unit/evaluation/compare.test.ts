import assert from 'node:assert/strict';
import { bootstrapInterval, standardError } from '../../../trainer/evaluation/bootstrap.ts';
import { compare, type TaskScore } from '../../../trainer/evaluation/compare.ts';
import { mcnemarExact } from '../../../trainer/evaluation/mcnemar.ts';
import { signFlipTest } from '../../../trainer/evaluation/sign-flip.ts';
import { wilsonInterval } from '../../../trainer/evaluation/wilson.ts';

const scores = (rewards: (number | null)[]): TaskScore[] => rewards.map((reward, i) => ({ task_id: `t${i}`, reward }));
const close = (actual: number, expected: number, tolerance: number) => assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected} ± ${tolerance}`);

describe('evaluation', () => {
  it('mcnemar: golden values', () => {
    close(mcnemarExact(2, 9), 0.0654, 5e-5);
    close(mcnemarExact(9, 2), 0.0654, 5e-5);
    assert.equal(mcnemarExact(0, 0), 1);
    assert.equal(mcnemarExact(3, 3), 1);
    close(mcnemarExact(0, 5), 2 / 32, 1e-12);
    assert.ok(mcnemarExact(0, 1200) >= 0 && mcnemarExact(0, 1200) < 1e-300);
    close(mcnemarExact(1000, 1000), 1, 1e-9);
  });

  it('wilson: 7 of 10, none and all', () => {
    const [low, high] = wilsonInterval(7, 10);
    close(low, 0.397, 5e-4);
    close(high, 0.892, 5e-4);
    close(wilsonInterval(0, 10)[0], 0, 1e-12);
    close(wilsonInterval(10, 10)[1], 1, 1e-12);
  });

  it('bootstrap agrees with the normal interval on a large sample, and repeats with the seed', () => {
    const differences = Array.from({ length: 400 }, (_, i) => Math.sin(i * 12.9898) * 0.5 + 0.1);
    const center = differences.reduce((a, b) => a + b) / differences.length;
    const [low, high] = bootstrapInterval(differences, 3);
    close(low, center - 1.96 * standardError(differences), 0.004);
    close(high, center + 1.96 * standardError(differences), 0.004);
    assert.deepEqual(bootstrapInterval(differences, 3), [low, high]);
    assert.notDeepEqual(bootstrapInterval(differences, 4), [low, high]);
  });

  it('sign-flip: exact for few, close to exact for many', () => {
    assert.equal(signFlipTest([1, 1, 1, 1, 1]), 2 / 32);
    assert.equal(signFlipTest([0, 0]), 1);
    assert.equal(signFlipTest([0.1, 0.2, -0.3]), 1);
    const many = [...Array<number>(9).fill(1), ...Array<number>(13).fill(-1)]; // a sum of 4 in 22 signs is the binomial tail
    close(signFlipTest(many, 1), mcnemarExact(9, 13), 0.02);
  });

  it('compares pairwise, counts who won, and leaves out what one side could not score', () => {
    const result = compare(scores([0, 0, 1, 1, null, 0]), scores([1, 0, 1, 0, 1, null]));
    assert.deepEqual(result.excluded, ['t4', 't5']);
    assert.deepEqual([result.won, result.lost, result.tied], [1, 1, 2]);
    assert.deepEqual(result.before, { mean_reward: 0.5, n: 4 });
    assert.deepEqual(result.after, { mean_reward: 0.5, n: 4 });
    assert.equal(result.difference?.mean, 0);
    assert.equal(result.difference?.p_value, 1);
    assert.equal(result.verdict?.word, 'no difference shown');
  });

  it('a task missing on a side is excluded, not 0', () => {
    assert.deepEqual(compare(scores([1, 1, 1]), scores([1, 1])).excluded, ['t2']);
    assert.deepEqual(compare(scores([1, 1]), scores([1, 1, 1])).excluded, ['t2']);
  });

  it('verdicts: better, worse, and the smallest effect of an undecided one', () => {
    const half = [...Array<number>(50).fill(0), ...Array<number>(50).fill(1)];
    const most = [...Array<number>(30).fill(1), ...Array<number>(20).fill(0), ...Array<number>(50).fill(1)];
    assert.equal(compare(scores(half), scores(most)).verdict?.word, 'better');
    assert.equal(compare(scores(most), scores(half)).verdict?.word, 'worse');
    const few = compare(scores([1, 1, 1, 1, 1, 1]), scores([0, 0, 0, 1, 1, 1]));
    assert.ok(few.difference!.ci95[1] < 0 && few.difference!.p_value > 0.05);
    assert.equal(few.verdict?.word, 'no difference shown');
    const undecided = compare(scores([0, 1, 0, 1]), scores([1, 0, 0, 1])).verdict;
    assert.ok(undecided?.word === 'no difference shown');
    close(undecided.smallest_effect, Math.sqrt(7.849 * (2 / 3) / 4), 1e-9);
  });

  it('no difference of fewer than two pairs', () => {
    assert.equal(compare(scores([1]), scores([0])).difference, null);
    assert.deepEqual(compare([], []).before, { mean_reward: null, n: 0 });
  });
});
