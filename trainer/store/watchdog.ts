import type { Attempt } from '../protocol/rollout.ts';
import type { Context } from './context.ts';
import { readAttempt, settle } from './rollout-rows.ts';

const watched = "status IN ('preparing', 'running')";
const timeoutAt = 'start_time + timeout_seconds'; // NULL without a limit
const silentAt = 'coalesce(last_heartbeat_time, start_time) + unresponsive_seconds';

/** Ends attempts past `timeout_seconds` and marks those silent for `unresponsive_seconds`. Runs before operations on rollouts. */
export function sweep(context: Context): void {
  const now = context.now();
  const due = context.db.all(`SELECT rollout_id, attempt_id, ${timeoutAt} <= ?1 AS late FROM attempts WHERE ${watched} AND (${timeoutAt} <= ?1 OR ${silentAt} <= ?1)`, now);
  if (due.length === 0) return;
  context.write('normal', () => {
    for (const { rollout_id, attempt_id, late } of due) {
      const attempt = readAttempt(context, rollout_id as string, attempt_id as string)!;
      settle(context, late === 1 ? timedOut(attempt, now) : silent(attempt, now));
    }
  });
}

/** When the next attempt will be due, in seconds since the epoch; undefined: none has a limit. */
export function nextDeadline({ db }: Context): number | undefined {
  const row = db.get(`SELECT min(min(coalesce(${timeoutAt}, 9e99), coalesce(${silentAt}, 9e99))) AS deadline FROM attempts WHERE ${watched}`);
  const deadline = row?.deadline;
  return typeof deadline === 'number' && deadline < 9e99 ? deadline : undefined;
}

function timedOut(attempt: Attempt, now: number): Attempt {
  return { ...attempt, status: 'timeout', outcome: 'timeout', end_time: now, error: `The attempt was stopped by its time limit after ${seconds(now - attempt.start_time)}.` };
}

function silent(attempt: Attempt, now: number): Attempt {
  const since = now - (attempt.last_heartbeat_time ?? attempt.start_time);
  // Not the agent's failure until shown: a worker that died looks the same.
  return { ...attempt, status: 'unresponsive', outcome: 'infra_error', error: `The attempt gave no sign of life for ${seconds(since)}.` };
}

/** A span came: an attempt that waited for its first one, or was thought dead, is running. */
export function alive(attempt: Attempt, now: number): Attempt {
  const beat = { ...attempt, last_heartbeat_time: now };
  return attempt.status === 'unresponsive' ? { ...beat, status: 'running', outcome: null, error: null } : attempt.status === 'preparing' ? { ...beat, status: 'running' } : beat;
}

function seconds(duration: number): string {
  return `${duration.toFixed(duration < 10 ? 1 : 0)} s`;
}
