import type { TreeRow } from '../../trainer/protocol/span-batch.ts';
import type { RolloutHead } from '../../trainer/protocol/trace-views.ts';
import { spanKey } from '../../trainer/protocol/trace-views.ts';

/** One visible line of the tree, made for those in sight. */
export interface Line {
  level: number; // 1: rollouts
  rollout: TraceRollout;
  span: TreeRow | null;
  expanded: boolean | null; // null: a leaf
  /** Place among its siblings, from 1, and how many there are; 0 while a filter hides some. */
  position: number;
  siblings: number;
}

/** `isFolded`: of a span id. */
export interface Folding { isOpen(rollout_id: string): boolean; isFolded(span_id: string): boolean }

/** Which spans and rollouts to show; null: all. A span is also shown for what is below it. */
export interface Sieve { rollout(rollout: TraceRollout): boolean; span: ((rollout: TraceRollout, span: TreeRow) => boolean) | null }

export const keyOf = ({ rollout, span }: Pick<Line, 'rollout' | 'span'>): string => (span === null ? rollout.head.rollout_id : spanKey(rollout.head.rollout_id, span.span_id));

const before = (a: TreeRow, b: TreeRow): boolean => a.start < b.start || (a.start === b.start && a.order <= b.order);

/** Into a list sorted by start; what arrives is usually the last. */
function insert(list: TreeRow[], span: TreeRow): void {
  if (list.length === 0 || before(list[list.length - 1]!, span)) list.push(span);
  else list.splice(endOf(list, span), 0, span);
}

/** How many of the list come before the span or are of the same time. */
function endOf(list: readonly TreeRow[], span: TreeRow): number {
  let low = 0;
  for (let high = list.length; low < high;) {
    const middle = (low + high) >> 1;
    if (before(list[middle]!, span)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function placeIn(list: readonly TreeRow[], span: TreeRow): number {
  let at = endOf(list, span) - 1;
  while (at >= 0 && list[at] !== span) at--;
  return at;
}

/** The spans of one rollout as a tree that grows one span at a time, children before or after their parents. */
export class TraceRollout {
  head: RolloutHead;
  readonly spans = new Map<string, TreeRow>();
  readonly calls: TreeRow[] = [];
  failures = 0;
  begin = Infinity;
  end = -Infinity;
  /** Spans without an end yet: the time scale follows the clock. */
  open = 0;
  /** Children of parents that have not arrived. */
  private readonly waiting = new Map<string, TreeRow[]>();
  private readonly top: TreeRow[] = [];
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
    this.waiting.clear();
    this.top.length = 0;
  }

  add(span: TreeRow): void {
    const known = this.spans.get(span.span_id);
    if (known !== undefined) {
      this.count(known, -1);
      Object.assign(known, span, { parent_id: known.parent_id, start: known.start, order: known.order, children: known.children }); // its place stays
      this.count(known, 1);
      return;
    }
    this.spans.set(span.span_id, span);
    this.count(span, 1);
    const { parent_id } = span;
    const parent = parent_id === null || parent_id === span.span_id ? undefined : this.spans.get(parent_id);
    if (parent !== undefined) insert(parent.children ??= [], span);
    else {
      // A parent that was never recorded (the agent's own tracing) does not hide its children.
      insert(this.top, span);
      if (parent_id !== null && parent_id !== span.span_id) {
        const siblings = this.waiting.get(parent_id);
        if (siblings === undefined) this.waiting.set(parent_id, [span]);
        else insert(siblings, span);
      }
    }
    const children = this.waiting.size === 0 ? undefined : this.waiting.get(span.span_id);
    if (children === undefined) return;
    this.waiting.delete(span.span_id);
    span.children = children;
    this.stale = true;
  }

  get roots(): TreeRow[] {
    if (this.stale) {
      let kept = 0;
      for (const span of this.top) if (!this.hasParent(span)) this.top[kept++] = span;
      this.top.length = kept;
      this.stale = false;
    }
    return this.top;
  }

  childrenOf(span: TreeRow): readonly TreeRow[] {
    return span.children ?? none;
  }

  /** The spans on the level of this one, itself among them. */
  siblingsOf(span: TreeRow): readonly TreeRow[] {
    return this.hasParent(span) ? this.spans.get(span.parent_id!)!.children ?? none : this.roots;
  }

  private hasParent({ parent_id, span_id }: TreeRow): boolean {
    return parent_id !== null && parent_id !== span_id && this.spans.has(parent_id);
  }

  /** The name of the agent that made a call: its own, else of the nearest operation around it. */
  agentOf(span: TreeRow): string | null {
    const seen = new Set<TreeRow>();
    for (let at: TreeRow | undefined = span; at !== undefined && !seen.has(at); at = at.parent_id === null ? undefined : this.spans.get(at.parent_id)) {
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

  private count(span: TreeRow, sign: 1 | -1): void {
    if (span.failed) this.failures += sign;
    if (span.end === null) this.open += sign;
    if (sign < 0) return;
    if (span.kind === 'llm') this.calls.push(span);
    this.begin = Math.min(this.begin, span.start);
    this.end = Math.max(this.end, span.end ?? span.start);
  }
}

const none: readonly TreeRow[] = [];

/** The lines to show, in order, by columns: a long tree is laid out anew many times a second. */
export class Lines {
  private readonly rollouts: TraceRollout[] = [];
  private readonly spans: (TreeRow | null)[] = [];
  private readonly levels: number[] = [];
  private readonly listed: TraceRollout[];
  private readonly folding: Folding;
  private readonly wanted: Sieve['span'];

  constructor(rollouts: Iterable<TraceRollout>, folding: Folding, sieve: Sieve) {
    this.folding = folding;
    this.wanted = sieve.span;
    this.listed = [...rollouts].filter((rollout) => sieve.rollout(rollout));
    for (const rollout of this.listed) {
      const { head, roots } = rollout;
      if (this.wanted !== null && head.loaded && !this.anyOf(rollout, roots)) continue;
      this.push(rollout, null, 1);
      if (folding.isOpen(head.rollout_id)) this.add(rollout, roots, 2);
    }
  }

  get length(): number { return this.levels.length; }

  /** Of a rollout, or of a span of it; -1: not shown. */
  indexOf(rollout_id: string, span_id: string): number {
    const { rollouts, spans } = this;
    for (let at = 0; at < spans.length; at++) if ((spans[at]?.span_id ?? '') === span_id && rollouts[at]!.head.rollout_id === rollout_id) return at;
    return -1;
  }

  at(index: number): Line {
    const [rollout, span, level] = [this.rollouts[index]!, this.spans[index]!, this.levels[index]!];
    const isFiltered = this.wanted !== null;
    if (span === null) return { level, rollout, span, expanded: this.folding.isOpen(rollout.head.rollout_id), position: isFiltered ? 0 : this.listed.indexOf(rollout) + 1, siblings: isFiltered ? 0 : this.listed.length };
    const siblings = isFiltered ? none : rollout.siblingsOf(span);
    return { level, rollout, span, expanded: rollout.childrenOf(span).length === 0 ? null : !this.folding.isFolded(span.span_id), position: isFiltered ? 0 : placeIn(siblings, span) + 1, siblings: siblings.length };
  }

  levelAt(index: number): number { return this.levels[index] ?? 0; }

  private push(rollout: TraceRollout, span: TreeRow | null, level: number): void {
    this.rollouts.push(rollout);
    this.spans.push(span);
    this.levels.push(level);
  }

  private add(rollout: TraceRollout, spans: readonly TreeRow[], level: number): void {
    const { wanted, folding } = this;
    for (let i = 0; i < spans.length; i++) {
      const span = spans[i]!;
      const children = span.children ?? none;
      this.push(rollout, span, level);
      const place = this.length;
      const isFolded = children.length > 0 && folding.isFolded(span.span_id);
      if (children.length > 0 && !isFolded) this.add(rollout, children, level + 1);
      if (wanted !== null && this.length === place && !wanted(rollout, span) && !(isFolded && this.anyOf(rollout, children))) this.rollouts.length = this.spans.length = this.levels.length = place - 1;
    }
  }

  private anyOf(rollout: TraceRollout, spans: readonly TreeRow[]): boolean {
    return spans.some((span) => this.wanted!(rollout, span) || this.anyOf(rollout, rollout.childrenOf(span)));
  }
}
