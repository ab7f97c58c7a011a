import assert from 'node:assert/strict';
import { finalReward, rewardReason } from '../../../trainer/adapter/rewards.ts';
import { toTransitions } from '../../../trainer/adapter/transitions.ts';
import { attr, spanNames, type Span } from '../../../trainer/protocol/span.ts';
import { trainerError } from '../store/support.ts';
import { callOf, operationOf, rollout, spanOf } from './support.ts';

const adapt = (spans: Span[], agent_match?: string) => toTransitions({ rollout, spans }, { agent_match });

describe('adapter: transitions', () => {
  it('takes ids and log-probabilities exactly as sampled', () => {
    // "HAVING" drawn as H + AVING must stay two tokens, whatever encoding the text again would give.
    const call = callOf({ [attr.responseTokenIds]: [39, 37651], [attr.requestTemperature]: 0.6, [attr.outputMessages]: '[{"role":"assistant","content":"HAVING"}]' });
    assert.deepEqual(adapt([spanOf(), call]), {
      transitions: [{ rollout_id: 'ro-1', span_id: call.span_id, call_index: 0, agent: null, prompt: [1, 2], response: [39, 37651], logprobs: [-0.5, -0.25], temperature: 0.6, policy_version: 6 }],
      losses: [], calls: 1, with_token_ids: 1,
    });
  });

  it('counts every call that cannot train, with the stage it did not reach and the reason', () => {
    const noIds = { [attr.promptTokenIds]: undefined, [attr.responseTokenIds]: undefined, [attr.responseLogprobs]: undefined };
    const cases: [Span, string, string][] = [
      [callOf({}, { status: { status_code: 'ERROR', description: '500' } }), 'trainable', 'failed call'],
      [callOf(noIds, { status: { status_code: 'ERROR' } }), 'with_token_ids', 'failed call'],
      [callOf({ [attr.incomplete]: true }), 'trainable', 'incomplete stream'],
      [callOf(noIds), 'with_token_ids', 'no token ids'],
      [callOf({ [attr.promptTokenIds]: [] }), 'with_token_ids', 'no token ids'],
      [callOf({ [attr.responseTokenIds]: [3, 4.5] }), 'trainable', 'malformed token ids'],
      [callOf({ [attr.responseTokenIds]: [3, -4] }), 'trainable', 'malformed token ids'],
      [callOf({ [attr.responseTokenIds]: [], [attr.responseLogprobs]: [] }), 'trainable', 'empty response'],
      [callOf({ [attr.responseLogprobs]: undefined }), 'trainable', 'no log-probabilities'],
      [callOf({ [attr.responseLogprobs]: [-1] }), 'trainable', 'log-probabilities do not fit the tokens'],
      [callOf({ [attr.requestTopP]: 0.95 }), 'trainable', 'truncated sampling distribution'],
      [callOf({ [attr.requestTopK]: 50 }), 'trainable', 'truncated sampling distribution'],
      [callOf({ [attr.constrained]: true }), 'trainable', 'constrained decoding'],
      [callOf({ [attr.requestTemperature]: undefined }), 'trainable', 'unknown temperature'],
      [callOf({ [attr.requestTemperature]: 0 }), 'trainable', 'greedy decoding'],
    ];
    for (const [span, stage, reason] of cases) {
      assert.deepEqual(adapt([span]), { transitions: [], losses: [{ stage, reason, count: 1 }], calls: 1, with_token_ids: stage === 'trainable' ? 1 : 0 }, reason);
    }
    const together = adapt([...cases.map(([span]) => span), callOf()]);
    assert.deepEqual([together.calls, together.with_token_ids, together.transitions.length], [16, 13, 1]);
    assert.equal(together.losses.reduce((sum, { count }) => sum + count, 0), 15);
    assert.deepEqual(together.losses.find(({ reason }) => reason === 'truncated sampling distribution')!.count, 2);
  });

  it('keeps the format that a response had to fit, from which its tokens follow again', () => {
    const { transitions, losses } = adapt([callOf({ [attr.constrained]: true, [attr.outputFormat]: '{"x":1}' })]);
    assert.deepEqual([transitions[0]!.format, losses], ['{"x":1}', []]);
  });

  it('orders by call index, which the gateway gives in order of arrival', () => {
    const spans = [callOf({ [attr.callIndex]: 1 }), callOf({ [attr.callIndex]: 0 })];
    assert.deepEqual(adapt(spans).transitions.map(({ call_index, span_id }) => [call_index, span_id]), [[0, spans[1]!.span_id], [1, spans[0]!.span_id]]);
  });

  it('trains only calls of agents that agent_match finds', () => {
    const [write, check] = [operationOf('write_query'), operationOf('check_query')];
    const spans = [write, check, callOf({}, { parent_id: write.span_id }), callOf({}, { parent_id: check.span_id }), callOf({}, { start_time: -9, end_time: -8 })];
    const { transitions, losses, with_token_ids } = adapt(spans, 'write|rewrite');
    assert.deepEqual(transitions.map(({ agent }) => agent), ['write_query']);
    assert.deepEqual(losses, [{ stage: 'trainable', reason: 'agent_match', count: 2 }]);
    assert.equal(with_token_ids, 3);
    assert.throws(() => adapt(spans, '('), trainerError('bad_input', /agent_match is not a regular expression/));
  });
});

describe('adapter: the agent of a call', () => {
  const agentsOf = (spans: Span[]) => adapt(spans).transitions.map(({ agent }) => agent);

  it('is named by the call itself before any operation', () => {
    const operation = operationOf('outer');
    assert.deepEqual(agentsOf([operation, callOf({ [attr.agentName]: 'planner' }, { parent_id: operation.span_id })]), ['planner']);
  });

  it('is the nearest named ancestor, through spans without a name', () => {
    const outer = operationOf('outer');
    const inner = operationOf('inner', { parent_id: outer.span_id });
    const plain = spanOf({ parent_id: inner.span_id });
    assert.deepEqual(agentsOf([outer, inner, plain, callOf({}, { parent_id: plain.span_id })]), ['inner']);
  });

  it('is nobody when the known ancestors have no name, even if an operation runs at the same time', () => {
    const root = spanOf({ start_time: 0, end_time: 100 });
    const concurrent = operationOf('other', { start_time: 0, end_time: 100 });
    assert.deepEqual(agentsOf([root, concurrent, callOf({}, { parent_id: root.span_id, start_time: 5, end_time: 6 })]), [null]);
  });

  it('is the tightest operation around the call when no trace context came, or its chain is broken', () => {
    const outer = operationOf('outer', { start_time: 0, end_time: 100 });
    const inner = operationOf('inner', { start_time: 10, end_time: 20 });
    const open = operationOf('open', { start_time: 0, end_time: null });
    const times = { start_time: 12, end_time: 15 };
    assert.deepEqual(agentsOf([outer, inner, open, callOf({}, times)]), ['inner']);
    assert.deepEqual(agentsOf([outer, inner, open, callOf({}, { ...times, parent_id: 'unknown' })]), ['inner']);
    assert.deepEqual(agentsOf([outer, inner, open, callOf({}, { start_time: 15, end_time: 25 })]), ['outer']);
    assert.deepEqual(agentsOf([outer, inner, open, callOf({}, { start_time: 15, end_time: 125 })]), ['open']);
  });

  it('does not hang on parents in a circle', () => {
    const [a, b] = [spanOf({ span_id: 'a', parent_id: 'b' }), spanOf({ span_id: 'b', parent_id: 'a' })];
    assert.deepEqual(agentsOf([a, b, callOf({}, { parent_id: 'a' })]), [null]);
  });
});

describe('adapter: final reward', () => {
  const rewardOf = (value: number | string) => spanOf({ name: spanNames.reward, attributes: { [attr.rewardValue]: value } });

  it('is the last one emitted, and null (not 0) without one', () => {
    assert.equal(finalReward([rewardOf(0.5), spanOf(), rewardOf(0), callOf()]), 0);
    assert.equal(finalReward([rewardOf('1'), callOf()]), null);
    assert.equal(finalReward([]), null);
  });

  it('the reason is that of the final reward', () => {
    const reasoned = (reason: string) => spanOf({ name: spanNames.reward, attributes: { [attr.rewardValue]: 1, [attr.rewardReason]: reason } });
    assert.equal(rewardReason([reasoned('first'), reasoned('last'), callOf()]), 'last');
    assert.equal(rewardReason([reasoned('first'), rewardOf(1)]), null);
    assert.equal(rewardReason([]), null);
  });
});
