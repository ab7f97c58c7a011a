import { createContext, Script } from 'node:vm';

const context = createContext({ run: null });
const script = new Script('run()');

/** Thrown by `withTimeLimit` when the time is over. */
export class TimeLimitError extends Error {}

/**
 * Runs `run`, which does not wait for anything, and ends it after `milliseconds` wherever it is, even in an endless loop.
 * Throws TimeLimitError, or what `run` throws. The engine ends what a script of `vm` calls as well, not only the script.
 */
export function withTimeLimit<T>(milliseconds: number, run: () => T): T {
  context['run'] = run;
  try {
    return script.runInContext(context, { timeout: milliseconds }) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException | null)?.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    throw new TimeLimitError(`not done within ${milliseconds} ms`, { cause: error });
  } finally {
    context['run'] = null;
  }
}
