import assert from 'node:assert/strict';
import { creditCalls } from '../../../trainer/adapter/credit.ts';
import { creditAdvantages } from '../../../trainer/algorithms/credit-advantages.ts';
import type { CreditRule, RewardLinks } from '../../../trainer/protocol/credit.ts';
import { attr, spanNames, type Span } from '../../../trainer/protocol/span.ts';
import { callOf, spanOf } from '../adapter/support.ts';

const call = (span_id: string, at: number): Span => callOf({}, { span_id, start_time: at });
const reward = (span_id: string, at: number, value: number): Span => spanOf({ span_id, name: spanNames.reward, start_time: at, attributes: { [attr.rewardName]: span_id, [attr.rewardValue]: value } });
/** call a, reward p, call b, call c, reward q at the end. */
const spans = [call('a', 1), reward('p', 2, 0.5), call('b', 3), call('c', 4), reward('q', 5, 1)];

/** One line per call and per reward, for comparison as text. */
function golden(rule: CreditRule, links: RewardLinks = {}, of = spans): string {
  const { rewards, calls } = creditCalls(of, rule, links);
  return [
    ...calls.map(({ span_id, credit, from }) => `${span_id} ${credit === null ? 'none' : credit.toFixed(4)} = ${from.map((part) => `${part.reward} ${part.share.toFixed(4)}`).join(' + ')}`),
    ...rewards.map(({ span_id, calls: linked, linked: by }) => `${span_id} -> ${linked.join(' ')} (${by})`),
  ].map((line) => line.trimEnd()).join('\n');
}

describe('the credit of LLM calls', () => {
  it('final: the last reward, to every call', () => {
    assert.equal(golden({ kind: 'final' }), 'a 1.0000 = q 1.0000\nb 1.0000 = q 1.0000\nc 1.0000 = q 1.0000\np ->  (rule)\nq -> a b c (rule)');
  });

  it('per step: each reward to the last call before it; a call without one has no credit, not zero', () => {
    assert.equal(golden({ kind: 'per_step' }), 'a 0.5000 = p 0.5000\nb none =\nc 1.0000 = q 1.0000\np -> a (rule)\nq -> c (rule)');
  });

  it('discounted: also to the calls before, a factor per call', () => {
    assert.equal(golden({ kind: 'discounted', gamma: 0.5 }), 'a 0.7500 = p 0.5000 + q 0.2500\nb 0.5000 = q 0.5000\nc 1.0000 = q 1.0000\np -> a (rule)\nq -> c (rule)');
  });

  it('links made by hand replace the ones of the rule', () => {
    assert.equal(golden({ kind: 'final' }, { q: ['b'] }), 'a none =\nb 1.0000 = q 1.0000\nc none =\np ->  (rule)\nq -> b (hand)');
    assert.equal(golden({ kind: 'per_step' }, { p: ['b', 'c'], q: [] }), 'a none =\nb 0.5000 = p 0.5000\nc 0.5000 = p 0.5000\np -> b c (hand)\nq ->  (hand)');
    assert.equal(golden({ kind: 'discounted', gamma: 0.5 }, { q: ['b'] }), 'a 1.0000 = p 0.5000 + q 0.5000\nb 1.0000 = q 1.0000\nc none =\np -> a (rule)\nq -> b (hand)');
  });

  it('links to spans that are no calls of the attempt count for nothing', () => {
    assert.equal(golden({ kind: 'per_step' }, { p: ['zzz', 'q'] }).split('\n')[0], 'a none =');
  });

  it('an attempt without a reward credits nothing; a reward before the first call has none to credit', () => {
    assert.equal(golden({ kind: 'final' }, {}, [call('a', 1)]), 'a none =');
    assert.equal(golden({ kind: 'per_step' }, {}, [reward('p', 0, 1), call('a', 1)]), 'a none =\np ->  (rule)');
  });

  it('is a function of its arguments', () => {
    const before = JSON.stringify(spans);
    assert.deepEqual(creditCalls(spans, { kind: 'per_step' }), creditCalls(spans, { kind: 'per_step' }));
    assert.equal(JSON.stringify(spans), before);
  });
});

describe('advantages by credit', () => {
  const credited = (...credits: (number | null)[]) => credits.map((credit, i) => ({ span_id: `s${i}`, call_index: i, credit, from: [] }));
  const rounded = (group: ReturnType<typeof credited>[], rule: CreditRule) => {
    const found = creditAdvantages(group, rule, { adv_estimator: 'grpo', scale_rewards: 'group' });
    return found.kind === 'skipped' ? found.reason : found.values.map((calls) => calls.map((value) => (value === null ? null : Number(value.toFixed(3)))));
  };

  it('final compares rollouts, whatever their number of calls', () => {
    assert.deepEqual(rounded([credited(1, 1, 1), credited(0)], { kind: 'final' }), [[0.707, 0.707, 0.707], [-0.707]]);
  });

  it('the other rules compare calls', () => {
    assert.deepEqual(rounded([credited(1, null), credited(0, 0.5)], { kind: 'per_step' }), [[1, null], [-1, 0]]);
  });

  it('says why nothing is learned', () => {
    assert.equal(rounded([credited(1)], { kind: 'final' }), 'group of one');
    assert.equal(rounded([credited(1), credited(1, 1)], { kind: 'final' }), 'group without variance');
  });
});
