import type { AttemptedRollout } from '../../trainer/protocol/rollout.ts';
import type { TrainerEvent } from '../../trainer/protocol/rpc.ts';
import type { Span } from '../../trainer/protocol/span.ts';
import type { Detail, RolloutHead, SpanRow } from '../../trainer/protocol/trace-views.ts';
import { spanKey } from '../../trainer/protocol/trace-views.ts';
import { rolloutDetail, rolloutHead } from './rollout-view.ts';
import type { Logs } from './rollout-view.ts';
import { spanDetail } from './span-detail.ts';
import { spanRow } from './span-row.ts';

/** `texts`: what each span says, in lower case, made at the first search. */
interface Entry { rollout: AttemptedRollout; spans: Map<string, Span> | null; logs: Logs | null; texts: Map<string, string> }

/** What an event changed: the heads of these rollouts, and spans to be added to them, or (reset) put in place of all. */
export interface Change { heads: string[]; ended: string[]; reset: string[]; spans: Span[] }

const nothing: Change = { heads: [], ended: [], reset: [], spans: [] };

const hasEnded = (rollout: AttemptedRollout): boolean => ['succeeded', 'failed', 'cancelled'].includes(rollout.status);

/** The rollouts of one trace page with the spans of their latest attempts, as listed, loaded and then told by events. */
export class TraceBook {
  /** A run of the trainer, not an opened file: what can be asked of the trainer is offered. */
  readonly isRun: boolean;
  private readonly entries = new Map<string, Entry>();
  /** Which rollouts belong on the page. */
  private readonly accepts: (rollout: AttemptedRollout) => boolean;

  constructor(accepts: (rollout: AttemptedRollout) => boolean, isRun = true) {
    this.accepts = accepts;
    this.isRun = isRun;
  }

  get ids(): string[] { return [...this.entries.keys()]; }

  has(rollout_id: string): boolean { return this.entries.has(rollout_id); }

  rollout(rollout_id: string): AttemptedRollout | undefined { return this.entries.get(rollout_id)?.rollout; }

  /** In order. */
  spans(rollout_id: string): Span[] {
    const spans = [...this.entries.get(rollout_id)?.spans?.values() ?? []];
    return spans.sort((a, b) => a.sequence_id - b.sequence_id || a.start_time - b.start_time);
  }

  span(rollout_id: string, span_id: string): Span | undefined { return this.entries.get(rollout_id)?.spans?.get(span_id); }

  hasSpans(rollout_id: string): boolean { return (this.entries.get(rollout_id)?.spans?.size ?? 0) > 0; }

  list(rollouts: AttemptedRollout[]): void {
    for (const rollout of rollouts) if (this.accepts(rollout)) this.put(rollout);
  }

  /** What `trace.get` answered: the whole truth about one rollout. */
  load(rollout: AttemptedRollout, spans: Span[], logs: Logs): void {
    this.entries.set(rollout.rollout_id, { rollout, spans: new Map(spans.map((span) => [span.span_id, span])), logs, texts: new Map() });
  }

  apply(event: TrainerEvent): Change {
    if (event.type === 'rollout') {
      if (!this.accepts(event.rollout)) return nothing;
      const { rollout_id, attempt } = event.rollout;
      const before = this.entries.get(rollout_id);
      this.put(event.rollout);
      const isOther = before?.rollout.attempt != null && attempt?.attempt_id !== before.rollout.attempt.attempt_id;
      if (isOther) this.entries.get(rollout_id)?.spans?.clear();
      const ended = hasEnded(event.rollout) && (before === undefined || !hasEnded(before.rollout));
      return { heads: [rollout_id], ended: ended ? [rollout_id] : [], reset: isOther ? [rollout_id] : [], spans: [] };
    }
    if (event.type !== 'spans') return nothing;
    const spans = event.spans.filter((span) => {
      const entry = this.entries.get(span.rollout_id);
      const attempt_id = entry?.rollout.attempt?.attempt_id;
      if (entry?.spans == null || (attempt_id !== undefined && attempt_id !== span.attempt_id)) return false;
      entry.spans.set(span.span_id, span);
      entry.texts.delete(span.span_id);
      return true;
    });
    return { ...nothing, spans };
  }

  heads(ids: string[] = this.ids): RolloutHead[] {
    return ids.flatMap((id) => {
      const entry = this.entries.get(id);
      return entry === undefined ? [] : [rolloutHead(entry.rollout, entry.spans !== null)];
    });
  }

  /** null: not loaded. */
  rows(rollout_id: string): SpanRow[] | null {
    return this.entries.get(rollout_id)?.spans == null ? null : this.spans(rollout_id).map(spanRow);
  }

  detail(rollout_id: string, span_id: string | null): Detail | null {
    const entry = this.entries.get(rollout_id);
    if (entry === undefined) return null;
    if (span_id === null) return rolloutDetail(entry.rollout, entry.logs);
    const span = entry.spans?.get(span_id);
    return span === undefined || entry.spans === null ? null : spanDetail(span, entry.spans, this.isRun);
  }

  /** The lines in whose texts `query` occurs: names, messages, inputs, outputs, errors. */
  search(query: string): string[] {
    const wanted = query.toLowerCase();
    const keys: string[] = [];
    for (const [rollout_id, { rollout, spans, texts }] of this.entries) {
      if (JSON.stringify(rollout.input ?? null).toLowerCase().includes(wanted) || (rollout.attempt?.error ?? '').toLowerCase().includes(wanted)) keys.push(rollout_id);
      for (const span of spans?.values() ?? []) {
        let said = texts.get(span.span_id);
        if (said === undefined) texts.set(span.span_id, said = textOf(span));
        if (said.includes(wanted)) keys.push(spanKey(rollout_id, span.span_id));
      }
    }
    return keys;
  }

  private put(rollout: AttemptedRollout): void {
    const known = this.entries.get(rollout.rollout_id);
    // All spans of a rollout that has not begun will come as events; of one that has ended none will.
    const spans = known?.spans ?? (hasEnded(rollout) ? null : new Map<string, Span>());
    this.entries.set(rollout.rollout_id, { rollout, spans, logs: known?.logs ?? null, texts: known?.texts ?? new Map<string, string>() });
  }
}

function textOf(span: Span): string {
  const values = Object.values(span.attributes).filter((value) => typeof value === 'string');
  return [span.name, span.status.description ?? '', ...values].join('\n').toLowerCase();
}
