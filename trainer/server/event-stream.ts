import type { TrainerEvent } from '../protocol/rpc.ts';

/** Characters handed to the socket and not yet taken by the client, above which events are held back, and below which they flow again. */
const highWater = 4_000_000;
const lowWater = 1_000_000;
/** Held-back events, beyond which the oldest are dropped, those of runs excepted. */
const mostHeld = 1000;

export interface EventFilter { run_id?: string; types?: readonly TrainerEvent['type'][] }

/**
 * The events one client subscribed to. While it reads too slowly, memory stays bounded: of a run, a step or a rollout
 * only the latest state is kept, spans are dropped; afterwards a notice tells how many the client did not get.
 */
export class EventStream {
  readonly #send: (text: string, taken: () => void) => void;
  readonly #held = new Map<string, TrainerEvent>();
  /** Dropped spans and other events, by run. */
  readonly #dropped = new Map<string, { spans: number; others: number }>();
  #filter: EventFilter | null = null;
  #outstanding = 0;
  #congested = false;
  #notices = 0;

  /** `send` calls `taken` when the text has left for the client. */
  constructor(send: (text: string, taken: () => void) => void) {
    this.#send = send;
  }

  subscribe(filter: EventFilter): void {
    this.#filter = filter;
  }

  push(event: TrainerEvent): void {
    if (!this.#filter || !matches(this.#filter, event)) return;
    if (this.#congested) this.#hold(event);
    else this.#write(event);
  }

  #write(event: TrainerEvent): void {
    const text = JSON.stringify({ event });
    this.#outstanding += text.length;
    this.#congested = this.#outstanding > highWater;
    this.#send(text, () => {
      this.#outstanding -= text.length;
      if (this.#congested && this.#outstanding < lowWater) this.#release();
    });
  }

  #hold(event: TrainerEvent): void {
    if (event.type === 'spans') return this.#drop(event);
    const key = this.#keyOf(event);
    this.#held.delete(key); // the latest state goes to the end of the queue
    this.#held.set(key, event);
    if (this.#held.size <= mostHeld) return;
    for (const [oldest, victim] of this.#held) {
      if (victim.type === 'run' || victim.type === 'run-deleted') continue; // few, and what a client must not miss
      this.#held.delete(oldest);
      return this.#drop(victim);
    }
  }

  #drop(event: TrainerEvent): void {
    const run_id = runOf(event) ?? '';
    const counts = this.#dropped.get(run_id) ?? { spans: 0, others: 0 };
    if (event.type === 'spans') counts.spans += event.spans.length;
    else counts.others += 1;
    this.#dropped.set(run_id, counts);
  }

  #release(): void {
    this.#congested = false;
    for (const [key, event] of this.#held) {
      if (this.#congested) return;
      this.#held.delete(key);
      this.#write(event);
    }
    for (const [run_id, { spans, others }] of this.#dropped) {
      if (this.#congested) return;
      this.#dropped.delete(run_id);
      this.#write({ type: 'notice', run_id, level: 'warning', message: `Events came faster than they were read: ${spans} spans and ${others} other updates of this run were not sent. Open it again to see them all.` });
    }
  }

  #keyOf(event: Exclude<TrainerEvent, { type: 'spans' }>): string {
    switch (event.type) {
      case 'run': return `run ${event.run.run_id}`;
      case 'run-deleted': return `run ${event.run_id}`;
      case 'step': return `step ${event.run_id} ${event.metrics.step}`;
      case 'candidate': return `candidate ${event.run_id} ${event.candidate.candidate_id}`;
      case 'rollout': return `rollout ${event.rollout.rollout_id}`;
      case 'notice': return `notice ${this.#notices++}`;
    }
  }
}

function runOf(event: TrainerEvent): string | null {
  return event.type === 'run' ? event.run.run_id : event.run_id;
}

function matches(filter: EventFilter, event: TrainerEvent): boolean {
  return (filter.run_id === undefined || runOf(event) === filter.run_id) && (filter.types === undefined || filter.types.includes(event.type));
}
