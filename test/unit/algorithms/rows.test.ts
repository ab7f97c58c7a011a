import assert from 'node:assert/strict';
import { trainRows, type Aggregation } from '../../../trainer/algorithms/rows.ts';

/** A row of two prompt tokens and `generated` sampled ones. */
const trajectory = (rollout_id: string, span_id: string, generated: number) => ({
  rollout_id,
  tokens: Array.from({ length: generated + 2 }, (_, i) => i),
  mask: [0, 0, ...new Array<number>(generated).fill(1)],
  logprobs: [0, 0, ...new Array<number>(generated).fill(-0.5)],
  temperature: 1,
  calls: [{ span_id, start: 2, length: generated }],
});
const x = { advantages: new Map([['a', [2, 2, 2]], ['b', [2, 2, 2, 2, 2]]]), trajectories: [trajectory('x', 'a', 3), trajectory('x', 'b', 5)] };
const y = { advantages: new Map([['c', [-1, -1, -1, -1]]]), trajectories: [trajectory('y', 'c', 4)] };
const aggregate = (loss_agg_mode: Aggregation['loss_agg_mode'], loss_scale_factor?: number): Aggregation => ({ loss_agg_mode, loss_scale_factor });
const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);

describe('training rows', () => {
  it('token-mean: every trained token weighs the same and all sum to 1', () => {
    const rows = trainRows([x, y], aggregate('token-mean'));
    assert.deepEqual(rows[0]?.weights, [0, 0, 1 / 12, 1 / 12, 1 / 12]);
    assert.ok(Math.abs(sum(rows.flatMap((row) => row.weights)) - 1) < 1e-12);
  });

  it('rollout-mean: every rollout weighs the same however many rows and tokens it has', () => {
    const rows = trainRows([x, y], aggregate('rollout-mean'));
    assert.deepEqual(rows.map((row) => row.weights.at(-1)), [1 / 24, 1 / 24, 1 / 12]);
    assert.ok(Math.abs(sum([...rows[0]!.weights, ...rows[1]!.weights]) - sum(rows[2]!.weights)) < 1e-12);
  });

  it('the aggregations of verl, on losses [1, 1] and [0.5 x 8]', () => {
    const rollouts = [2, 8].map((length, i) => ({ advantages: new Map(), trajectories: [trajectory(`r${i}`, `s${i}`, length)] }));
    const loss = (aggregation: Aggregation) => sum(trainRows(rollouts, aggregation).map(({ weights }, i) => sum(weights) * (i === 0 ? 1 : 0.5)));
    const close = (actual: number, expected: number) => assert.ok(Math.abs(actual - expected) < 1e-12, `${actual} is not ${expected}`);
    close(loss(aggregate('token-mean')), 6 / 10);
    close(loss(aggregate('seq-mean-token-mean')), (1 + 0.5) / 2);
    close(loss(aggregate('seq-mean-token-sum')), (2 + 4) / 2);
    close(loss(aggregate('seq-mean-token-sum-norm', 10)), (2 + 4) / 2 / 10);
  });

  it('gives each call of a row its own advantages', () => {
    const row = { ...trajectory('z', 'first', 6), mask: [0, 0, 1, 1, 0, 0, 1, 1], calls: [{ span_id: 'first', start: 2, length: 2 }, { span_id: 'second', start: 6, length: 2 }] };
    const [made] = trainRows([{ advantages: new Map([['second', [4, 5]], ['first', [1, 2]]]), trajectories: [row] }], aggregate('token-mean'));
    assert.deepEqual(made?.advantages, [0, 0, 1, 2, 0, 0, 4, 5]);
  });

  it('advantages, weights and log-probabilities are 0 on tokens that were not sampled', () => {
    const [row] = trainRows([x], aggregate('token-mean'));
    assert.deepEqual(row?.advantages, [0, 0, 2, 2, 2]);
    assert.deepEqual(row?.old_logprobs, [0, 0, -0.5, -0.5, -0.5]);
    assert.equal(row?.temperature, 1);
  });

  it('a rollout without trajectories adds nothing', () => {
    assert.equal(trainRows([{ advantages: new Map(), trajectories: [] }, y], aggregate('rollout-mean')).length, 1);
    assert.deepEqual(trainRows([], aggregate('token-mean')), []);
  });
});
