import { AsyncLocalStorage } from 'node:async_hooks';
import type { RecordedOperations } from './recorded.ts';
import type { ActiveSpan } from './span.ts';
import type { WorkerMessage } from './types.ts';

/** One attempt in this worker: where its spans go. */
export interface AttemptContext {
  rollout_id: string;
  attempt_id: string;
  trace_id: string;
  send(message: WorkerMessage): void;
  /** Results to return in place of running operations again. */
  recorded: RecordedOperations;
}

interface RuntimeState {
  spans: AsyncLocalStorage<ActiveSpan>;
  /**
   * The root span of the attempt in progress. A worker runs one attempt at a time, so code that lost its async
   * context (a pooled callback, say) belongs to it.
   */
  root: ActiveSpan | null;
  inWorker: boolean;
}

// On globalThis, not in the module: the worker and the agent may load this file from two bundles.
const key = Symbol.for('agent-trainer.runtime');
const holder = globalThis as { [key]?: RuntimeState };

export const state: RuntimeState = holder[key] ??= { spans: new AsyncLocalStorage(), root: null, inWorker: false };

/** The innermost open span of the running code; null outside the trainer. */
export function currentSpan(): ActiveSpan | null {
  return state.spans.getStore() ?? state.root;
}
