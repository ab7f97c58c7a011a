import type { AttemptedRollout } from '../../trainer/protocol/rollout.ts';
import type { TrainerEvent } from '../../trainer/protocol/rpc.ts';
import type { Span } from '../../trainer/protocol/span.ts';
import type { RolloutView } from '../../trainer/protocol/views.ts';
import { rolloutView } from './rollout-view.ts';
import type { Logs } from './rollout-view.ts';
import { spanView } from './span-view.ts';

interface Entry { rollout: AttemptedRollout; spans: Map<string, Span> | null; logs: Logs | null }

const hasEnded = (rollout: AttemptedRollout): boolean => ['succeeded', 'failed', 'cancelled'].includes(rollout.status);

/** The rollouts of one trace page with their spans, as listed, loaded and then told by events. */
export class TraceBook {
  private readonly entries = new Map<string, Entry>();
  /** Which rollouts of the run belong on the page. */
  private readonly accepts: (rollout: AttemptedRollout) => boolean;

  constructor(accepts: (rollout: AttemptedRollout) => boolean) {
    this.accepts = accepts;
  }

  get ids(): string[] { return [...this.entries.keys()]; }

  list(rollouts: AttemptedRollout[]): void {
    for (const rollout of rollouts) if (this.accepts(rollout)) this.put(rollout);
  }

  /** What `trace.get` answered: the whole truth about one rollout. */
  load(rollout: AttemptedRollout, spans: Span[], logs: Logs): void {
    this.entries.set(rollout.rollout_id, { rollout, spans: new Map(spans.map((span) => [span.span_id, span])), logs });
  }

  /** The rollouts that changed; of these, `ended` ended just now. */
  apply(event: TrainerEvent): { changed: string[]; ended: string[] } {
    if (event.type === 'rollout') {
      if (!this.accepts(event.rollout)) return { changed: [], ended: [] };
      const before = this.entries.get(event.rollout.rollout_id)?.rollout;
      this.put(event.rollout);
      const ended = hasEnded(event.rollout) && (before === undefined || !hasEnded(before));
      return { changed: [event.rollout.rollout_id], ended: ended ? [event.rollout.rollout_id] : [] };
    }
    if (event.type !== 'spans') return { changed: [], ended: [] };
    const changed = new Set<string>();
    for (const span of event.spans) {
      const spans = this.entries.get(span.rollout_id)?.spans;
      if (spans === null || spans === undefined) continue;
      spans.set(span.span_id, span);
      changed.add(span.rollout_id);
    }
    return { changed: [...changed], ended: [] };
  }

  views(ids: string[] = this.ids): RolloutView[] {
    return ids.flatMap((id) => {
      const entry = this.entries.get(id);
      return entry === undefined ? [] : [rolloutView(entry.rollout, entry.spans === null ? null : this.spansOf(entry.rollout, entry.spans), entry.logs)];
    });
  }

  private put(rollout: AttemptedRollout): void {
    const known = this.entries.get(rollout.rollout_id);
    // All spans of a rollout that has not begun will come as events; of one that has ended none will.
    const spans = known?.spans ?? (hasEnded(rollout) ? null : new Map<string, Span>());
    this.entries.set(rollout.rollout_id, { rollout, spans, logs: known?.logs ?? null });
  }

  /** In order, of the latest attempt alone. */
  private spansOf(rollout: AttemptedRollout, spans: Map<string, Span>) {
    const attempt = rollout.attempt?.attempt_id;
    return [...spans.values()]
      .filter((span) => attempt === undefined || span.attempt_id === attempt)
      .sort((a, b) => a.sequence_id - b.sequence_id || a.start_time - b.start_time)
      .map(spanView);
  }
}
