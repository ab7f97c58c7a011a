import { attr, type Span } from '../protocol/span.ts';

/** The last reward emitted in an attempt (spans in order); null when there was none. */
export function finalReward(spans: readonly Span[]): number | null {
  const last = lastReward(spans);
  return last ? (last.attributes[attr.rewardValue] as number) : null;
}

/** Why the final reward is what it is, in the agent's words; null when it gave no reason. */
export function rewardReason(spans: readonly Span[]): string | null {
  const reason = lastReward(spans)?.attributes[attr.rewardReason];
  return typeof reason === 'string' ? reason : null;
}

function lastReward(spans: readonly Span[]): Span | undefined {
  return spans.findLast((span) => typeof span.attributes[attr.rewardValue] === 'number');
}
