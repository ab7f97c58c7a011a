import assert from 'node:assert/strict';
import type { z } from 'zod';
import { batchConfig, trainingBatch as batchOf } from '../../../trainer/algorithms/training-batch.ts';
import { whyNothing } from '../../../trainer/algorithms/funnel.ts';
import { GrpoConfig } from '../../../trainer/protocol/grpo-config.ts';
import { attr } from '../../../trainer/protocol/span.ts';
import { openStore, type Store } from '../../../trainer/store/store.ts';
import { spansOf, type ScriptedCall, type ScriptedEnd } from './scripted-agents.ts';

const call = (agent?: string): ScriptedCall => ({ agent, prompt: [1, 2], response: [3, 4, 5] });

describe('training batch', () => {
  let store: Store;
  beforeEach(() => { store = openStore(':memory:'); });
  afterEach(() => store.close());

  const group = (ends: ScriptedEnd[]) => ends.map(({ calls, ...end }) => {
    store.enqueueRollouts([{ input: {} }]);
    const rollout = store.dequeueRollout('w')!;
    store.addSpans(spansOf(store, rollout, calls));
    const finished = store.finishAttempt(rollout.rollout_id, rollout.attempt!.attempt_id, end);
    return { rollout: finished, spans: store.listSpans(rollout.rollout_id) };
  });
  const config = (settings: z.input<typeof GrpoConfig> = {}, max_tokens?: number) => batchConfig({ grpo: GrpoConfig.parse(settings), sampling: { temperature: 1, top_p: 1, top_k: 0, dtype: 'float32', max_tokens } });
  const trainingBatch = (...[groups, settings, kl]: Parameters<typeof batchOf>) => {
    const { mini_batches, ...batch } = batchOf(groups, settings, kl);
    return { ...batch, rows: mini_batches.flat() };
  };
  const scored = (reward: number, calls = [call()]): ScriptedEnd => ({ outcome: 'scored', reward, calls });

  it('advantages are statistics of rollouts, not of calls', () => {
    const five = Array.from({ length: 5 }, (_, i) => ({ prompt: [i + 10], response: [1] }));
    const { rows } = trainingBatch([group([scored(1, five), scored(0)])], config());
    assert.equal(rows.length, 6);
    for (const row of rows.slice(0, 5)) assert.ok(Math.abs(row.advantages[1]! - 0.70711) < 1e-5);
    assert.ok(Math.abs(rows[5]!.advantages[2]! + 0.70711) < 1e-5);
  });

  it('counts every call from rollouts to used, each loss with stage, reason and rollouts', () => {
    const good = group([scored(1, [call('write'), call('check')]), scored(0, [call('write')])]);
    const flat = group([scored(1, [call('write')]), scored(1, [call('write')])]);
    const lone = group([scored(1, [call('write')]), { outcome: 'timeout', error: 'too long', calls: [call('write'), { ...call('write'), failed: 'boom' }] }]);
    const silent = group([scored(0, []), { outcome: 'agent_error', error: 'crash', calls: [] }]);
    const { funnel, groups, groups_without_variance, rewards } = trainingBatch([good, flat, lone, silent], config({ agent_match: 'write' }));
    const { losses, ...counts } = funnel;
    assert.deepEqual(counts, { rollouts: 8, calls: 8, with_token_ids: 7, scored: 6, trainable: 5, used: 2 });
    const ids = (...rollouts: { rollout: { rollout_id: string } }[]) => rollouts.map(({ rollout }) => rollout.rollout_id);
    assert.deepEqual(losses, [
      { stage: 'trainable', reason: 'agent_match', count: 1, rollout_ids: ids(good[0]!) },
      { stage: 'with_token_ids', reason: 'failed call', count: 1, rollout_ids: ids(lone[1]!) },
      { stage: 'scored', reason: 'timeout', count: 1, rollout_ids: ids(lone[1]!) },
      { stage: 'calls', reason: 'no LLM call', count: 1, rollout_ids: ids(silent[0]!) },
      { stage: 'calls', reason: 'agent_error', count: 1, rollout_ids: ids(silent[1]!) },
      { stage: 'used', reason: 'group without variance', count: 2, rollout_ids: ids(...flat) },
      { stage: 'used', reason: 'group of one', count: 1, rollout_ids: ids(lone[0]!) },
    ]);
    assert.equal(groups, 4);
    assert.equal(groups_without_variance, 1);
    assert.deepEqual(rewards, [1, 0, 1, 1, 1, 0]);
  });

  it('each stage is the one before less its losses', () => {
    const { funnel } = trainingBatch([
      group([scored(1, [call('a'), { ...call('b'), attributes: { [attr.requestTopP]: 0.5 } }]), scored(0, [call('a'), { ...call('a'), failed: 'x' }]), { outcome: 'unscored', calls: [call('a')] }]),
      group([scored(1, [call('b')]), { outcome: 'infra_error', calls: [call('a')] }]),
    ], config({ agent_match: 'a' }));
    const lostAt = (stage: string) => funnel.losses.filter((loss) => loss.stage === stage).reduce((sum, loss) => sum + loss.count, 0);
    assert.equal(funnel.with_token_ids, funnel.calls - lostAt('with_token_ids'));
    assert.equal(funnel.scored, funnel.with_token_ids - lostAt('scored'));
    assert.equal(funnel.trainable, funnel.scored - lostAt('trainable'));
    assert.equal(funnel.used, funnel.trainable - lostAt('used'));
  });

  it('failed rollouts are dropped, or train with reward 0, as configured; infrastructure and unscored never do', () => {
    const ends: ScriptedEnd[] = [scored(1), { outcome: 'agent_error', calls: [call()] }, { outcome: 'timeout', calls: [call()] }, { outcome: 'context_overflow', calls: [call()] }, { outcome: 'infra_error', calls: [call()] }, { outcome: 'unscored', calls: [call()] }];
    assert.equal(trainingBatch([group(ends)], config()).rows.length, 0);
    const zero = trainingBatch([group(ends)], config({ failed_rollouts: 'zero' }));
    assert.deepEqual(zero.rewards, [1, 0, 0, 0]);
    assert.equal(zero.rows.length, 4);
    assert.deepEqual(zero.funnel.losses.map((loss) => [loss.stage, loss.reason, loss.count]), [['scored', 'infra_error', 1], ['scored', 'unscored', 1]]);
  });

  it('per_step: calls are compared with the calls of their group, each row has its calls\' advantages, and uncredited calls are counted', () => {
    const step = (prompt: number[], response: number[]): ScriptedCall => ({ prompt, response });
    const ends: ScriptedEnd[] = [
      { outcome: 'scored', reward: 1, calls: [{ ...step([1], [2]), reward: 0 }, { ...step([1, 2, 7], [3, 4]), reward: 1 }] },
      { outcome: 'scored', reward: 0, calls: [step([1], [5]), { ...step([1, 5, 7], [6]), reward: 0.5 }] },
    ];
    const groups = [group(ends)];
    const { rows, funnel, response_lengths } = trainingBatch(groups, config({ credit: { kind: 'per_step' }, scale_rewards: 'none' }));
    // Credits 0, 1 and 0.5: mean 0.5. The first call of the second rollout has none.
    assert.deepEqual(rows.map(({ tokens, advantages, mask }) => ({ tokens, advantages, mask })), [
      { tokens: [1, 2, 7, 3, 4], mask: [0, 1, 0, 1, 1], advantages: [0, -0.5, 0, 0.5, 0.5] },
      { tokens: [1, 5, 7, 6], mask: [0, 0, 0, 1], advantages: [0, 0, 0, 0] },
    ]);
    assert.deepEqual(funnel.losses, [{ stage: 'used', reason: 'no reward credits the call', count: 1, rollout_ids: [groups[0]![1]!.rollout.rollout_id] }]);
    assert.equal(funnel.used, 3);
    assert.deepEqual(response_lengths, [1, 2, 1]);
  });

  it('mini-batches hold whole groups and weigh their own tokens', () => {
    const groups = [group([scored(1), scored(0)]), group([scored(1), scored(1)]), group([scored(0), scored(1, [{ prompt: [1], response: [2] }])]), group([scored(1), scored(0)])];
    const { mini_batches } = batchOf(groups, config({ ppo_mini_batch_size: 2 }));
    assert.deepEqual(mini_batches.map((rows) => rows.length), [4, 2]);
    for (const rows of mini_batches) assert.ok(Math.abs(rows.flatMap(({ weights }) => weights).reduce((sum, weight) => sum + weight, 0) - 1) < 1e-12);
    assert.deepEqual(batchOf([groups[1]!], config({ ppo_mini_batch_size: 2 })).mini_batches, []);
  });

  it('dynamic sampling leaves groups without variance out, also where the estimator has no use for groups', () => {
    const groups = [group([scored(1), scored(1)]), group([scored(1), scored(0)])];
    const all = trainingBatch(groups, config({ adv_estimator: 'reinforce_plus_plus' }));
    assert.equal(all.rows.length, 4);
    const some = trainingBatch(groups, config({ adv_estimator: 'reinforce_plus_plus', filter_groups: { enable: true } }));
    assert.equal(some.rows.length, 2);
    assert.deepEqual(some.funnel.losses.map(({ reason, count }) => [reason, count]), [['group without variance', 2]]);
  });

  it('a step with nothing to learn from says why', () => {
    const { rows, funnel } = trainingBatch([group([scored(1), scored(1)])], config());
    assert.deepEqual(rows, []);
    assert.equal(whyNothing(funnel), 'group without variance (2)');
    assert.equal(whyNothing(trainingBatch([], config()).funnel), 'there were no rollouts');
  });
});
