import { t } from '../../trainer/protocol/l10n.ts';
import type { TreeRow } from '../../trainer/protocol/span-batch.ts';
import { spanKey } from '../../trainer/protocol/trace-views.ts';
import type { Sieve, TraceRollout } from './model.ts';

export const statuses = { any: t('Any status'), errors: t('With errors'), scored: t('Scored'), unscored: t('No reward'), running: t('Running'), cancelled: t('Cancelled') } as const;
export type Status = keyof typeof statuses;

export interface Filters {
  text: string;
  /** Lines whose texts match, as the extension found them; null: not told yet. */
  matches: ReadonlySet<string> | null;
  agent: string | null;
  status: Status;
  /** Inclusive; null: open. */
  rewardFrom: number | null;
  rewardTo: number | null;
}

export const noFilters: Filters = { text: '', matches: null, agent: null, status: 'any', rewardFrom: null, rewardTo: null };

export function isFiltering(filters: Filters): boolean {
  return filters.text !== '' || filters.agent !== null || filters.status !== 'any' || filters.rewardFrom !== null || filters.rewardTo !== null;
}

/** Filters as two questions: does this rollout belong, and does this span. */
export function sieveOf(filters: Filters): Sieve {
  const spanTests: ((rollout: TraceRollout, span: TreeRow) => boolean)[] = [];
  const { agent, matches } = filters;
  const text = filters.text.toLowerCase();
  if (agent !== null) spanTests.push((rollout, span) => rollout.agentOf(span) === agent);
  if (filters.status === 'errors') spanTests.push((rollout, span) => span.failed || rollout.head.state === 'failed');
  if (text !== '') {
    spanTests.push((rollout, span) => (matches !== null ? matches.has(spanKey(rollout.head.rollout_id, span.span_id)) || matches.has(rollout.head.rollout_id) : has(span.title, text) || has(span.note, text) || has(rollout.head.title, text)));
  }
  return {
    rollout: (rollout) => statusFits(rollout, filters.status) && rewardFits(rollout.head.reward, filters) && (rollout.spans.size > 0 || text === '' || has(rollout.head.title, text) || matches?.has(rollout.head.rollout_id) === true),
    span: spanTests.length === 0 ? null : (rollout, span) => spanTests.every((test) => test(rollout, span)),
  };
}

/** Failed rollouts, then those with failed spans, then the rest; as they came among equals. */
export function errorsFirst(rollouts: readonly TraceRollout[]): TraceRollout[] {
  const rank = (rollout: TraceRollout): number => (rollout.head.state === 'failed' ? 0 : rollout.failures > 0 ? 1 : 2);
  return [...rollouts].sort((a, b) => rank(a) - rank(b));
}

function has(text: string, lower: string): boolean {
  return text.toLowerCase().includes(lower);
}

function statusFits({ head, failures }: TraceRollout, status: Status): boolean {
  if (status === 'any') return true;
  if (status === 'errors') return head.state === 'failed' || failures > 0;
  if (status === 'running') return head.state === 'running' || head.state === 'waiting';
  return head.state === status;
}

function rewardFits(reward: number | null, { rewardFrom, rewardTo }: Filters): boolean {
  if (rewardFrom === null && rewardTo === null) return true;
  return reward !== null && reward >= (rewardFrom ?? -Infinity) && reward <= (rewardTo ?? Infinity);
}

/** Replays right behind the rollouts they continue. */
export function replaysBeside(rollouts: readonly TraceRollout[]): TraceRollout[] {
  const ids = new Set(rollouts.map((rollout) => rollout.head.rollout_id));
  const replays = new Map<string, TraceRollout[]>();
  for (const rollout of rollouts) {
    const { replay_of } = rollout.head;
    if (replay_of !== null && ids.has(replay_of)) replays.set(replay_of, [...replays.get(replay_of) ?? [], rollout]);
  }
  const withOwn = (rollout: TraceRollout): TraceRollout[] => [rollout, ...(replays.get(rollout.head.rollout_id) ?? []).flatMap(withOwn)];
  return rollouts.filter(({ head }) => head.replay_of === null || !ids.has(head.replay_of)).flatMap(withOwn);
}
