import type { Driver } from '../../../trainer/store/database.ts';
import type { Attempt, AttemptedRollout } from '../../../trainer/protocol/rollout.ts';
import type { TrainerEvent } from '../../../trainer/protocol/rpc.ts';
import type { Span } from '../../../trainer/protocol/span.ts';
import { openStore, type RolloutInput, type Store } from '../../../trainer/store/store.ts';
import type { TrainerError } from '../../../trainer/protocol/errors.ts';

/** Every driver this Node has. */
export const drivers: Driver[] = process.getBuiltinModule('node:sqlite') ? ['node:sqlite', 'libsql'] : ['libsql'];

export interface Clock { time: number }

export function storeWithClock(driver?: Driver): { store: Store; clock: Clock; events: TrainerEvent[] } {
  const clock = { time: 1000 };
  const store = openStore(':memory:', { now: () => clock.time, driver });
  const events: TrainerEvent[] = [];
  store.onEvent((event) => events.push(event));
  return { store, clock, events };
}

export type Running = AttemptedRollout & { attempt: Attempt };

/** Enqueues one rollout and takes it. */
export function startRollout(store: Store, input: Partial<RolloutInput> = {}, worker = 'worker-1'): Running {
  store.enqueueRollouts([{ input: { question: 'why' }, ...input }]);
  return take(store, worker);
}

export function take(store: Store, worker = 'worker-1', filter?: { run_id?: string }): Running {
  const rollout = store.dequeueRollout(worker, filter);
  if (!rollout?.attempt) throw new Error('Nothing to take');
  return rollout as Running;
}

let spans = 0;
export function spanOf({ rollout_id, attempt }: Running, fields: Partial<Span> = {}): Span {
  spans += 1;
  return {
    rollout_id, attempt_id: attempt.attempt_id, sequence_id: 1, trace_id: 'f'.repeat(32), span_id: spans.toString(16).padStart(16, '0'), parent_id: null,
    name: 'chat', status: { status_code: 'OK' }, attributes: {}, events: [], start_time: 1, end_time: 2, resource: { attributes: {} }, ...fields,
  };
}

/** For assert.throws: a TrainerError of this code whose message matches. */
export function trainerError(code: string, message: RegExp): (error: unknown) => boolean {
  return (error) => {
    const { name, code: actual, message: text } = error as TrainerError;
    if (name !== 'TrainerError' || actual !== code || !message.test(text)) throw new Error(`Expected TrainerError ${code} ${message}, got ${name} ${actual}: ${text}`);
    return true;
  };
}
