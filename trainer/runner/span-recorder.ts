import { attr, type Span } from '../protocol/span.ts';
import { traceIdOf } from '../store/ids.ts';
import type { Store } from '../store/store.ts';
import type { WorkerSpan } from './messages.ts';

/** Puts the spans of one attempt into the store, in the order they began. */
export class SpanRecorder {
  /** Values of the reward spans, in order. */
  readonly rewards: number[] = [];
  readonly #ids: { rollout_id: string; attempt_id: string };
  readonly #store: Pick<Store, 'addSpans' | 'nextSequenceId'>;
  readonly #open = new Map<string, Span>();
  #pending: Span[] = [];

  constructor(store: Pick<Store, 'addSpans' | 'nextSequenceId'>, rollout_id: string, attempt_id: string) {
    this.#store = store;
    this.#ids = { rollout_id, attempt_id };
  }

  begin(span: WorkerSpan): void {
    this.#open.set(span.span_id, this.#numbered(span));
  }

  end(span: WorkerSpan): void {
    const begun = this.#open.get(span.span_id);
    this.#open.delete(span.span_id);
    const reward = span.attributes[attr.rewardValue];
    if (typeof reward === 'number') this.rewards.push(reward);
    this.#pending.push(begun ? { ...begun, ...span, ...this.#ids } : this.#numbered(span));
  }

  /** Writes what ended since the last time. */
  flush(): void {
    const spans = this.#pending;
    this.#pending = [];
    if (spans.length > 0) this.#store.addSpans(spans);
  }

  /** The attempt ended under these spans: they show where. */
  abandonOpen(reason: string): void {
    const end_time = Date.now() / 1000;
    for (const span of this.#open.values()) {
      this.#pending.push({ ...span, end_time: Math.max(end_time, span.start_time), status: { status_code: 'ERROR', description: `did not end: ${reason}` } });
    }
    this.#open.clear();
    this.flush();
  }

  #numbered(span: WorkerSpan): Span {
    const { rollout_id, attempt_id } = this.#ids;
    return { ...span, rollout_id, attempt_id, sequence_id: this.#store.nextSequenceId(rollout_id, attempt_id), trace_id: traceIdOf(attempt_id), resource: { attributes: {} } };
  }
}
