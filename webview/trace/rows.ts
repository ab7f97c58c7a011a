import type { RolloutView, SpanView } from '../../trainer/protocol/views.ts';

/** One visible line of the tree. `start` and `width` are its share of the rollout's time, 0…1. */
export interface Row {
  key: string; // unique: rollout id, or rollout id and span id
  parent: string | null;
  level: number; // 1: rollouts
  icon: string;
  label: string; // what the icon says, for screen readers
  title: string;
  note: string;
  failed: boolean;
  expanded: boolean | null; // null: a leaf
  time: { start: number; width: number } | null;
  rollout: RolloutView;
  span: SpanView | null;
}

const kindWords = { llm: 'LLM call', operation: 'operation', reward: 'reward', message: 'message', exception: 'exception', other: 'span' } as const;

export const spanKey = (rollout_id: string, span_id: string): string => `${rollout_id}/${span_id}`;

/** The lines to show: rollouts, and below the expanded ones their spans, nested. `now`: seconds, the end of what still runs. */
export function rowsOf(rollouts: Iterable<RolloutView>, collapsed: (key: string) => boolean, now: number): Row[] {
  const rows: Row[] = [];
  for (const rollout of rollouts) {
    const expanded = !collapsed(rollout.rollout_id);
    rows.push({
      key: rollout.rollout_id, parent: null, level: 1, icon: rollout.state, label: rollout.state, title: rollout.title, note: rollout.note,
      failed: rollout.state === 'failed', expanded, time: null, rollout, span: null,
    });
    if (expanded && rollout.spans !== null) rows.push(...spanRows(rollout, rollout.spans, collapsed, now));
  }
  return rows;
}

function spanRows(rollout: RolloutView, spans: SpanView[], collapsed: (key: string) => boolean, now: number): Row[] {
  const ids = new Set(spans.map((span) => span.span_id));
  const children = new Map<string | null, SpanView[]>();
  for (const span of spans) {
    // A parent that was never recorded (the agent's own tracing) does not hide its children.
    const parent = span.parent_id !== null && ids.has(span.parent_id) && span.parent_id !== span.span_id ? span.parent_id : null;
    children.set(parent, [...(children.get(parent) ?? []), span]);
  }
  const begin = Math.min(...spans.map((span) => span.start));
  const extent = Math.max(1e-6, Math.max(...spans.map((span) => span.end ?? now)) - begin);
  const rows: Row[] = [];
  const add = (span: SpanView, level: number, parent: string): void => {
    const key = spanKey(rollout.rollout_id, span.span_id);
    const below = children.get(span.span_id) ?? [];
    const expanded = below.length === 0 ? null : !collapsed(key);
    rows.push({
      key, parent, level, icon: span.kind, label: kindWords[span.kind], title: span.title, note: span.note, failed: span.failed, expanded,
      time: { start: (span.start - begin) / extent, width: ((span.end ?? now) - span.start) / extent }, rollout, span,
    });
    if (expanded === true) for (const child of byStart(below)) add(child, level + 1, key);
  };
  for (const span of byStart(children.get(null) ?? [])) add(span, 2, rollout.rollout_id);
  return rows;
}

/** A reward or message at the same instant stays behind what caused it. */
function byStart(spans: SpanView[]): SpanView[] {
  return [...spans].sort((a, b) => a.start - b.start);
}
