import { TrainerError } from '../protocol/errors.ts';
import type { AttemptedRollout } from '../protocol/rollout.ts';
import type { Context } from './context.ts';
import { requireRollout } from './rollouts.ts';
import { isTerminal } from './states.ts';
import { nextDeadline, sweep } from './watchdog.ts';

interface Wait {
  ids: ReadonlySet<string>;
  /** Those not terminal yet. */
  remaining: Set<string>;
  resolve(): void;
  reject(error: TrainerError): void;
}

export interface Waits {
  waitForRollouts: (ids: readonly string[], options?: { signal?: AbortSignal }) => Promise<AttemptedRollout[]>;
  close(): void;
}

/** Waiting for rollouts to end: woken by events; a timer only for the next time limit, so that a limit passes even when nobody calls the store. */
export function createWaits(context: Context): Waits {
  const waits = new Set<Wait>();
  let timer: NodeJS.Timeout | undefined;

  const settleReady = (wait: Wait): void => {
    if (wait.remaining.size > 0) return;
    waits.delete(wait);
    wait.resolve();
  };

  const arm = (): void => {
    clearTimeout(timer);
    const deadline = waits.size > 0 ? nextDeadline(context) : undefined;
    if (deadline === undefined) return;
    // setTimeout may fire a little early and cannot wait longer than 2^31 ms.
    const delay = Math.min(Math.max(deadline - context.now(), 0) * 1000 + 5, 2 ** 31 - 1);
    timer = setTimeout(() => {
      sweep(context);
      arm();
    }, delay);
  };

  const unsubscribe = context.onEvent((event) => {
    if (event.type !== 'rollout' || waits.size === 0) return;
    const { rollout_id, status } = event.rollout;
    for (const wait of [...waits]) {
      if (!wait.ids.has(rollout_id)) continue;
      if (!isTerminal(status)) wait.remaining.add(rollout_id);
      else if (wait.remaining.delete(rollout_id)) settleReady(wait);
    }
    arm();
  });

  return {
    waitForRollouts: (ids, { signal } = {}) => new Promise((resolve, reject) => {
      sweep(context);
      const remaining = new Set(ids.filter((id) => !isTerminal(requireRollout(context, id).status)));
      const abort = () => {
        if (waits.delete(wait)) reject(new TrainerError('cancelled', 'Waiting for rollouts was cancelled.', { cause: signal?.reason }));
        arm();
      };
      const done = () => signal?.removeEventListener('abort', abort);
      const wait: Wait = {
        ids: new Set(ids),
        remaining,
        resolve: () => { done(); resolve(ids.map((id) => requireRollout(context, id))); },
        reject: (error) => { done(); reject(error); },
      };
      waits.add(wait);
      if (signal?.aborted) return abort();
      signal?.addEventListener('abort', abort, { once: true });
      settleReady(wait);
      arm();
    }),
    close: () => {
      unsubscribe();
      clearTimeout(timer);
      for (const wait of waits) wait.reject(new TrainerError('cancelled', 'The store was closed while rollouts were awaited.'));
      waits.clear();
    },
  };
}
