import assert from 'node:assert/strict';
import { trainRows } from '../../../trainer/algorithms/rows.ts';

/** A row of two prompt tokens and `generated` sampled ones. */
const trajectory = (rollout_id: string, generated: number) => ({
  rollout_id,
  tokens: Array.from({ length: generated + 2 }, (_, i) => i),
  mask: [0, 0, ...new Array<number>(generated).fill(1)],
  logprobs: [0, 0, ...new Array<number>(generated).fill(-0.5)],
  temperature: 1,
  calls: 1,
});
const x = { advantage: 2, trajectories: [trajectory('x', 3), trajectory('x', 5)] };
const y = { advantage: -1, trajectories: [trajectory('y', 4)] };
const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);

describe('training rows', () => {
  it('token-mean: every trained token weighs the same and all sum to 1', () => {
    const rows = trainRows([x, y], 'token-mean');
    assert.deepEqual(rows[0]?.weights, [0, 0, 1 / 12, 1 / 12, 1 / 12]);
    assert.ok(Math.abs(sum(rows.flatMap((row) => row.weights)) - 1) < 1e-12);
  });

  it('rollout-mean: every rollout weighs the same however many rows and tokens it has', () => {
    const rows = trainRows([x, y], 'rollout-mean');
    assert.deepEqual(rows.map((row) => row.weights.at(-1)), [1 / 24, 1 / 24, 1 / 12]);
    assert.ok(Math.abs(sum([...rows[0]!.weights, ...rows[1]!.weights]) - sum(rows[2]!.weights)) < 1e-12);
  });

  it('advantages, weights and log-probabilities are 0 on tokens that were not sampled', () => {
    const [row] = trainRows([x], 'token-mean');
    assert.deepEqual(row?.advantages, [0, 0, 2, 2, 2]);
    assert.deepEqual(row?.old_logprobs, [0, 0, -0.5, -0.5, -0.5]);
    assert.equal(row?.temperature, 1);
  });

  it('a rollout without trajectories adds nothing', () => {
    assert.equal(trainRows([{ advantage: 1, trajectories: [] }, y], 'rollout-mean').length, 1);
    assert.deepEqual(trainRows([], 'token-mean'), []);
  });
});
