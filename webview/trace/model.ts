import type { RolloutHead, SpanRow } from '../../trainer/protocol/trace-views.ts';
import { spanKey } from '../../trainer/protocol/trace-views.ts';

/** One visible line of the tree. */
export interface Line {
  key: string;
  level: number; // 1: rollouts
  rollout: TraceRollout;
  span: SpanRow | null;
  expanded: boolean | null; // null: a leaf
  /** Place among its siblings, from 1, and how many there are; 0 while a filter hides some. */
  position: number;
  siblings: number;
}

export interface Folding { isOpen(rollout_id: string): boolean; isFolded(key: string): boolean }

/** Which spans and rollouts to show; null: all. A span is also shown for what is below it. */
export interface Sieve { rollout(rollout: TraceRollout): boolean; span: ((rollout: TraceRollout, span: SpanRow) => boolean) | null }

const before = (a: SpanRow, b: SpanRow): boolean => a.start < b.start || (a.start === b.start && a.order <= b.order);

/** Into a list sorted by start; what arrives is usually the last. */
function insert(list: SpanRow[], span: SpanRow): void {
  let low = list.length;
  if (low > 0 && !before(list[low - 1]!, span)) {
    low = 0;
    for (let high = list.length; low < high;) {
      const middle = (low + high) >> 1;
      if (before(list[middle]!, span)) low = middle + 1;
      else high = middle;
    }
  }
  list.splice(low, 0, span);
}

/** The spans of one rollout as a tree that grows one span at a time, children before or after their parents. */
export class TraceRollout {
  head: RolloutHead;
  readonly spans = new Map<string, SpanRow>();
  readonly calls: SpanRow[] = [];
  failures = 0;
  begin = Infinity;
  end = -Infinity;
  /** Spans without an end yet: the time scale follows the clock. */
  open = 0;
  private readonly below = new Map<string, SpanRow[]>();
  private readonly top: SpanRow[] = [];
  /** Spans in `top` only until the parent they name arrives. */
  private readonly orphans = new Set<string>();
  private stale = false;

  constructor(head: RolloutHead) {
    this.head = head;
  }

  clear(): void {
    this.spans.clear();
    this.calls.length = 0;
    this.failures = this.open = 0;
    this.begin = Infinity;
    this.end = -Infinity;
    this.below.clear();
    this.top.length = 0;
    this.orphans.clear();
  }

  add(span: SpanRow): void {
    const known = this.spans.get(span.span_id);
    if (known !== undefined) {
      this.count(known, -1);
      Object.assign(known, span, { parent_id: known.parent_id, start: known.start, order: known.order }); // its place stays
      this.count(known, 1);
      return;
    }
    this.spans.set(span.span_id, span);
    this.count(span, 1);
    const { parent_id } = span;
    if (parent_id !== null && parent_id !== span.span_id) {
      const siblings = this.below.get(parent_id);
      if (siblings === undefined) this.below.set(parent_id, [span]);
      else insert(siblings, span);
    }
    if (parent_id === null || parent_id === span.span_id || !this.spans.has(parent_id)) {
      // A parent that was never recorded (the agent's own tracing) does not hide its children.
      insert(this.top, span);
      if (parent_id !== null && parent_id !== span.span_id) this.orphans.add(span.span_id);
    }
    for (const child of this.below.get(span.span_id) ?? []) if (this.orphans.delete(child.span_id)) this.stale = true;
  }

  get roots(): SpanRow[] {
    if (this.stale) {
      let kept = 0;
      for (const span of this.top) if (span.parent_id === null || span.parent_id === span.span_id || this.orphans.has(span.span_id)) this.top[kept++] = span;
      this.top.length = kept;
      this.stale = false;
    }
    return this.top;
  }

  childrenOf(span: SpanRow): readonly SpanRow[] {
    return span.parent_id === span.span_id ? none : this.below.get(span.span_id) ?? none;
  }

  /** The name of the agent that made a call: its own, else of the nearest operation around it. */
  agentOf(span: SpanRow): string | null {
    const seen = new Set<SpanRow>();
    for (let at: SpanRow | undefined = span; at !== undefined && !seen.has(at); at = at.parent_id === null ? undefined : this.spans.get(at.parent_id)) {
      seen.add(at);
      if (at.agent !== null) return at.agent;
      if (at.kind === 'operation') return at.title;
    }
    return null;
  }

  /** Seconds the time bars of this rollout cover. */
  extent(now: number): number {
    return Math.max(1e-6, (this.open > 0 ? Math.max(now, this.end) : this.end) - this.begin);
  }

  private count(span: SpanRow, sign: 1 | -1): void {
    if (span.failed) this.failures += sign;
    if (span.end === null) this.open += sign;
    if (sign < 0) return;
    if (span.kind === 'llm') this.calls.push(span);
    this.begin = Math.min(this.begin, span.start);
    this.end = Math.max(this.end, span.end ?? span.start);
  }
}

const none: readonly SpanRow[] = [];

/** The lines to show, in order. */
export function linesOf(rollouts: Iterable<TraceRollout>, folding: Folding, sieve: Sieve): Line[] {
  const lines: Line[] = [];
  const listed = [...rollouts].filter((rollout) => sieve.rollout(rollout));
  for (const [i, rollout] of listed.entries()) {
    const { rollout_id, loaded } = rollout.head;
    const expanded = folding.isOpen(rollout_id);
    const place = lines.push({ key: rollout_id, level: 1, rollout, span: null, expanded, position: i + 1, siblings: listed.length });
    const { roots } = rollout;
    const wanted = sieve.span;
    if (wanted !== null && loaded && !anyOf(rollout, roots, wanted)) lines.length = place - 1;
    else if (expanded) addSpans(lines, rollout, roots, 2, folding, wanted);
  }
  return lines;
}

function anyOf(rollout: TraceRollout, spans: readonly SpanRow[], wanted: (rollout: TraceRollout, span: SpanRow) => boolean): boolean {
  return spans.some((span) => wanted(rollout, span) || anyOf(rollout, rollout.childrenOf(span), wanted));
}

function addSpans(lines: Line[], rollout: TraceRollout, spans: readonly SpanRow[], level: number, folding: Folding, wanted: Sieve['span']): void {
  const { rollout_id } = rollout.head;
  for (let i = 0; i < spans.length; i++) {
    const span = spans[i]!;
    const key = spanKey(rollout_id, span.span_id);
    const children = rollout.childrenOf(span);
    const expanded = children.length === 0 ? null : !folding.isFolded(key);
    const place = lines.push({ key, level, rollout, span, expanded, position: wanted === null ? i + 1 : 0, siblings: wanted === null ? spans.length : 0 });
    if (expanded === true) addSpans(lines, rollout, children, level + 1, folding, wanted);
    if (wanted !== null && lines.length === place && !wanted(rollout, span) && !(expanded === false && anyOf(rollout, children, wanted))) lines.length = place - 1;
  }
}
