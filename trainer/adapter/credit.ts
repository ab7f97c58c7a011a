import type { CreditedCall, CreditRule, LinkedReward, RewardLinks } from '../protocol/credit.ts';
import { attr, isLlmCall, type Span } from '../protocol/span.ts';

/**
 * The credit of each LLM call of one attempt. With calls 0 … n-1 in order, and reward r linked to call k(r):
 *   final       credit(t) = value of the last reward, for every linked call (all, unless linked by hand)
 *   per_step    credit(t) = sum of value(r) over rewards with k(r) = t
 *   discounted  credit(t) = sum of gamma^(k(r) - t) · value(r) over rewards with k(r) >= t
 * Unless linked by hand, k(r) is the last call that began before the reward. A call no reward reaches has credit null.
 * Pure: the same spans, rule and links give the same credit, without any rollout.
 */
export function creditCalls(spans: readonly Span[], rule: CreditRule, links: RewardLinks = {}): { rewards: LinkedReward[]; calls: CreditedCall[] } {
  const calls = callsOf(spans);
  const rewards = rewardsOf(spans);
  const counted = rule.kind === 'final' ? rewards.slice(-1) : rewards;
  const linked = rewards.map((reward): LinkedReward => {
    const byHand = links[reward.span_id]?.filter((id) => calls.some((call) => call.span_id === id));
    const found = byHand ?? (counted.includes(reward) ? foundCalls(reward, calls, rule) : []);
    return { span_id: reward.span_id, name: reward.name, value: reward.value, calls: found, linked: byHand ? 'hand' : 'rule' };
  });
  const countedIds = new Set(counted.map((reward) => reward.span_id));
  for (const reward of linked) {
    if (!countedIds.has(reward.span_id)) continue;
    for (const { call, share } of sharesOf(reward, calls, rule)) call.from.push({ reward: reward.span_id, share });
  }
  for (const call of calls) if (call.from.length > 0) call.credit = call.from.reduce((sum, { share }) => sum + share, 0);
  return { rewards: linked, calls: calls.map(({ span_id, call_index, credit, from }) => ({ span_id, call_index, credit, from })) };
}

type Call = CreditedCall & { start: number };
interface Reward { span_id: string; name: string; value: number; start: number }

function callsOf(spans: readonly Span[]): Call[] {
  return spans.filter(isLlmCall).map((span, ordinal) => {
    const index = span.attributes[attr.callIndex];
    return { span_id: span.span_id, call_index: typeof index === 'number' ? index : ordinal, credit: null, from: [], start: span.start_time };
  }).sort((a, b) => a.call_index - b.call_index);
}

function rewardsOf(spans: readonly Span[]): Reward[] {
  return spans.flatMap((span) => {
    const { [attr.rewardValue]: value, [attr.rewardName]: name } = span.attributes;
    return typeof value === 'number' ? [{ span_id: span.span_id, name: typeof name === 'string' ? name : 'reward', value, start: span.start_time }] : [];
  });
}

function foundCalls(reward: Reward, calls: readonly Call[], rule: CreditRule): string[] {
  if (rule.kind === 'final') return calls.map((call) => call.span_id);
  const last = calls.findLast((call) => call.start <= reward.start);
  return last ? [last.span_id] : [];
}

function sharesOf(reward: LinkedReward, calls: Call[], rule: CreditRule): { call: Call; share: number }[] {
  if (rule.kind !== 'discounted') return calls.filter((call) => reward.calls.includes(call.span_id)).map((call) => ({ call, share: reward.value }));
  const last = calls.findLastIndex((call) => reward.calls.includes(call.span_id));
  return calls.slice(0, last + 1).map((call, t) => ({ call, share: rule.gamma ** (last - t) * reward.value }));
}
