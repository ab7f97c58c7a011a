import { attr, type Span } from '../protocol/span.ts';

/** The last reward emitted in an attempt (spans in order); null when there was none. */
export function finalReward(spans: readonly Span[]): number | null {
  const last = spans.findLast((span) => typeof span.attributes[attr.rewardValue] === 'number');
  return last ? (last.attributes[attr.rewardValue] as number) : null;
}
