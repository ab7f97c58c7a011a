import assert from 'node:assert/strict';
import type { Transition } from '../../../trainer/adapter/transitions.ts';
import { estimateAdvantages, type RewardKl } from '../../../trainer/algorithms/estimate.ts';
import { meanKl, referenceKl } from '../../../trainer/algorithms/reward-kl.ts';
import { overlongPenalty } from '../../../trainer/algorithms/overlong.ts';
import { samplesOf, type Sample, type SampleConfig } from '../../../trainer/algorithms/samples.ts';
import { attr, spanNames, type Span } from '../../../trainer/protocol/span.ts';
import { callOf, spanOf } from '../adapter/support.ts';

const call = (span_id: string, length: number): Transition => ({
  rollout_id: 'r', span_id, call_index: 0, agent: null, prompt: [1], response: new Array<number>(length).fill(2), logprobs: new Array<number>(length).fill(-1), temperature: 1, policy_version: 0,
});
const sample = (reward: number, ...calls: Transition[]): Sample => ({ reward, calls });
const tokens = (found: ReturnType<typeof estimateAdvantages>) => found.map((group) => (group.kind === 'skipped' ? group.reason : group.samples.map((values) => values.map((value) => Number(value.toFixed(5))))));

describe('advantages of tokens', () => {
  const a = call('a', 2);
  const b = call('b', 1);
  const c = call('c', 1);
  const kl: RewardKl = { coef: 0.1, tokens: new Map([['a', [1, 3]], ['b', [2]], ['c', [0]]]) };

  it('every token of a rollout has the rollout\'s, whatever its number of calls', () => {
    assert.deepEqual(tokens(estimateAdvantages([[sample(1, a, b), sample(0, c)]], { adv_estimator: 'grpo', scale_rewards: 'none' }, null)), [[[0.5, 0.5, 0.5], [-0.5]]]);
  });

  it('a KL term is summed over the tokens of a rollout and taken off its reward before the comparison', () => {
    // 1 - 0.1·(1 + 3 + 2) = 0.4 against 0 - 0.1·0 = 0.
    assert.deepEqual(tokens(estimateAdvantages([[sample(1, a, b), sample(0, c)]], { adv_estimator: 'rloo', scale_rewards: 'group' }, kl)), [[[0.4, 0.4, 0.4], [-0.4]]]);
    assert.deepEqual(tokens(estimateAdvantages([[sample(0.75, a, b), sample(0, c)]], { adv_estimator: 'rloo', scale_rewards: 'group' }, { ...kl, coef: 0.125 })), ['group without variance']);
  });

  it('REINFORCE++ whitens what each token leads to over the whole step, without groups', () => {
    // Tokens 1, 1, 1, 0: mean 0.75, variance (3·0.0625 + 0.5625) / 3 = 0.25.
    const estimation = { adv_estimator: 'reinforce_plus_plus', scale_rewards: 'group' } as const;
    assert.deepEqual(tokens(estimateAdvantages([[sample(1, a, b)], [sample(0, c)]], estimation, null)), [[[0.5, 0.5, 0.5]], [[-1.5]]]);
    assert.deepEqual(tokens(estimateAdvantages([[sample(1, a)], [sample(1, c)]], estimation, null)), ['step without variance', 'step without variance']);
    // With KL: 1 - 0.1·(1 + 3 + 2), 1 - 0.1·(3 + 2), 1 - 0.1·2 and 0, so 0.4, 0.5, 0.8, 0: mean 0.425, variance 0.3275 / 3.
    const deviation = Math.sqrt(0.3275 / 3);
    assert.deepEqual(tokens(estimateAdvantages([[sample(1, a, b)], [sample(0, c)]], estimation, kl)),
      [[[0.4, 0.5, 0.8].map((value) => Number(((value - 0.425) / deviation).toFixed(5)))], [[Number((-0.425 / deviation).toFixed(5))]]]);
  });

  it('the REINFORCE++ baseline centres in the group and whitens over the step, groups without variance among them as 0', () => {
    // Tokens 0.5, 0.5, 0.5, -0.5 and 0: mean 0.2, squares 3·0.09 + 0.49 + 0.04 = 0.8, variance 0.2.
    const found = estimateAdvantages([[sample(1, a, b), sample(0, c)], [sample(1, call('d', 1)), sample(1)], [sample(1, call('e', 4))]], { adv_estimator: 'reinforce_plus_plus_baseline', scale_rewards: 'group' }, null);
    const white = (value: number) => Number(((value - 0.2) / Math.sqrt(0.2)).toFixed(5));
    assert.deepEqual(tokens(found), [[[white(0.5), white(0.5), white(0.5)], [white(-0.5)]], [[white(0)], []], 'group of one']);
  });
});

describe('KL from the reference', () => {
  it('is the sampler\'s log-probability less the reference\'s, at each token drawn', async () => {
    const rollout = { rollout_id: 'r' } as Parameters<typeof referenceKl>[1][number]['rollout'];
    const spans = [
      callOf({ [attr.promptTokenIds]: [1, 2], [attr.responseTokenIds]: [3, 4], [attr.responseLogprobs]: [-0.5, -0.25], [attr.callIndex]: 0 }, { span_id: 'a' }),
      callOf({ [attr.promptTokenIds]: [1, 2, 3, 4, 9], [attr.responseTokenIds]: [5], [attr.responseLogprobs]: [-1], [attr.callIndex]: 1 }, { span_id: 'b' }),
    ];
    const asked: unknown[] = [];
    const logprobs = async (rows: { tokens: number[] }[], weights?: string) => {
      asked.push(weights, rows.map((row) => row.tokens));
      return rows.map((row) => Float32Array.from(row.tokens, (token) => -token / 8));
    };
    const found = await referenceKl({ logprobs }, [{ rollout, spans }], { agent_match: undefined, trace_aggregation: 'trajectory' });
    assert.deepEqual(asked, ['reference', [[1, 2, 3, 4, 9, 5]]]);
    assert.deepEqual([...found], [['a', [-0.5 + 3 / 8, -0.25 + 4 / 8]], ['b', [-1 + 5 / 8]]]);
    assert.equal(meanKl(found), (-0.125 + 0.25 - 0.375) / 3);
    assert.equal(meanKl(new Map()), null);
  });
});

describe('samples', () => {
  const config: SampleConfig = { credit: { kind: 'final' }, overlong_buffer: { len: 0, penalty_factor: 1 }, max_tokens: 20 };
  const reward = (span_id: string, at: number, value: number): Span => spanOf({ span_id, name: spanNames.reward, start_time: at, attributes: { [attr.rewardName]: span_id, [attr.rewardValue]: value } });
  const spans = [callOf({ [attr.callIndex]: 0 }, { span_id: 'a', start_time: 1 }), reward('p', 2, 0.5), callOf({ [attr.callIndex]: 1 }, { span_id: 'b', start_time: 3 }), callOf({ [attr.callIndex]: 2 }, { span_id: 'c', start_time: 4 }), reward('q', 5, 1)];
  const rollout = { rollout_id: 'r', reward: 1, failed: false, transitions: [call('a', 12), call('c', 16)], spans };
  const brief = (samples: Sample[]) => samples.map(({ reward: value, calls }) => [value, calls.map(({ span_id }) => span_id).join('')]);

  it('are rollouts, or the calls that a reward credits', () => {
    assert.deepEqual(brief(samplesOf(rollout, config)), [[1, 'ac']]);
    assert.deepEqual(brief(samplesOf(rollout, { ...config, credit: { kind: 'per_step' } })), [[0.5, 'a'], [1, 'c']]);
    assert.deepEqual(brief(samplesOf(rollout, { ...config, credit: { kind: 'discounted', gamma: 0.5 } })), [[0.75, 'a'], [0.5, ''], [1, 'c']], 'b cannot be trained, but counts');
    assert.deepEqual(brief(samplesOf({ ...rollout, failed: true, reward: 0 }, { ...config, credit: { kind: 'per_step' } })), [[0, 'a'], [0, ''], [0, 'c']]);
  });

  it('lose reward for answers that come close to the limit', () => {
    const buffer = { len: 8, penalty_factor: 1 };
    assert.deepEqual([5, 12, 16, 20].map((length) => overlongPenalty(length, buffer, 20)), [0, 0, -0.5, -1]);
    assert.equal(overlongPenalty(16, { len: 8, penalty_factor: 3 }, 20), -1.5);
    assert.equal(overlongPenalty(20, { len: 0, penalty_factor: 1 }, 20), 0);
    assert.deepEqual(brief(samplesOf(rollout, { ...config, overlong_buffer: buffer })), [[0.5, 'ac']], 'once, for the longest');
    assert.deepEqual(brief(samplesOf(rollout, { ...config, overlong_buffer: buffer, credit: { kind: 'per_step' } })), [[0.5, 'a'], [0.5, 'c']]);
  });
});
