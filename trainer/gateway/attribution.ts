import type { AttemptedRollout } from '../protocol/rollout.ts';
import type { Store } from '../store/store.ts';
import { traceIdOf } from '../store/ids.ts';
import { invalidRequest } from './openai-error.ts';

/** Where a call belongs: the attempt that makes it, its ordinal there, and the operation it is made in. */
export interface Place {
  rollout: AttemptedRollout;
  attempt_id: string;
  /** 0, 1, … in order of arrival. */
  call_index: number;
  sequence_id: number;
  trace_id: string;
  parent_id: string | null;
}

const traceparent = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}$/;

/** Hands out places. Forgets an attempt's count when its rollout's state says that it is over. */
export class Attribution {
  readonly #store: Store;
  readonly #calls = new Map<string, number>();
  readonly stop: () => void;

  constructor(store: Store) {
    this.#store = store;
    this.stop = store.onEvent((event) => {
      if (event.type === 'rollout' && event.rollout.attempt && isOver(event.rollout)) this.#calls.delete(event.rollout.attempt.attempt_id);
    });
  }

  /** Throws OpenAI-shaped 404 for an unknown rollout or attempt, 409 for one that is over. */
  place(rollout_id: string, attempt_id: string, traceparentHeader: string | undefined): Place {
    const rollout = this.#store.getRollout(rollout_id);
    if (!rollout) throw invalidRequest(`There is no rollout ${rollout_id}. Use the base URL that the trainer hands to the agent.`, { status: 404, code: 'rollout_not_found' });
    const { attempt } = rollout;
    if (attempt?.attempt_id !== attempt_id || isOver(rollout)) {
      throw invalidRequest(`Attempt ${attempt_id} of rollout ${rollout_id} is over: no more calls are served for it.`, { status: 409, code: 'attempt_over' });
    }
    const call_index = this.#calls.get(attempt_id) ?? 0;
    this.#calls.set(attempt_id, call_index + 1);
    const trace_id = traceIdOf(attempt_id);
    const [, trace, span] = traceparent.exec(traceparentHeader ?? '') ?? [];
    return {
      rollout, attempt_id, call_index, trace_id,
      sequence_id: this.#store.nextSequenceId(rollout_id, attempt_id),
      parent_id: trace === trace_id ? (span ?? null) : null,
    };
  }
}

function isOver(rollout: AttemptedRollout): boolean {
  return rollout.end_time !== null || rollout.status === 'cancelled' || (rollout.attempt !== null && rollout.attempt.end_time !== null);
}
