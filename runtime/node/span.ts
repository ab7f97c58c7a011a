import { randomBytes } from 'node:crypto';
import type { AttemptContext } from './state.ts';
import type { WireSpan } from './types.ts';

/** A span of an attempt. `begin` tells the trainer its place in the order; `end` completes it (a moment needs no `begin`). */
export class ActiveSpan {
  readonly attempt: AttemptContext;
  readonly span_id: string = randomBytes(8).toString('hex');
  readonly attributes: WireSpan['attributes'];
  readonly #parent_id: string | null;
  readonly #name: string;
  readonly #start = performance.timeOrigin + performance.now();

  constructor(attempt: AttemptContext, parent: ActiveSpan | null, name: string, attributes: WireSpan['attributes']) {
    this.attempt = attempt;
    this.attributes = attributes;
    this.#parent_id = parent?.span_id ?? null;
    this.#name = name;
  }

  begin(): this {
    this.attempt.send({ type: 'begin', span: this.#wire({ status_code: 'UNSET', description: null }, [], null) });
    return this;
  }

  end(): void {
    this.attempt.send({ type: 'end', span: this.#wire({ status_code: 'OK', description: null }, [], this.#now()) });
  }

  fail(error: unknown): void {
    const { type, message, stack } = partsOf(error);
    const event = { name: 'exception', timestamp: this.#now(), attributes: { 'exception.type': type, 'exception.message': message, 'exception.stacktrace': stack.slice(0, 8192) } };
    this.attempt.send({ type: 'end', span: this.#wire({ status_code: 'ERROR', description: `${type}: ${message}` }, [event], this.#now()) });
  }

  get traceparent(): string {
    return `00-${this.attempt.trace_id}-${this.span_id}-01`;
  }

  #now(): number {
    return (performance.timeOrigin + performance.now()) / 1000;
  }

  #wire(status: WireSpan['status'], events: WireSpan['events'], end_time: number | null): WireSpan {
    const { rollout_id, attempt_id } = this.attempt;
    return {
      rollout_id, attempt_id, span_id: this.span_id, parent_id: this.#parent_id, name: this.#name,
      status, attributes: this.attributes, events, start_time: this.#start / 1000, end_time,
    };
  }
}

/** Anything can be thrown; strings and objects get a type too. */
export function partsOf(error: unknown): { type: string; message: string; stack: string } {
  if (error instanceof Error) return { type: error.name, message: error.message, stack: error.stack ?? '' };
  return { type: `thrown ${typeof error}`, message: String(error), stack: '' };
}
