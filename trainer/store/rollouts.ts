import { z } from 'zod';
import { TrainerError } from '../protocol/errors.ts';
import { Outcome, RolloutConfig, RolloutMode, type Attempt, type AttemptedRollout, type Rollout, type RolloutStatus } from '../protocol/rollout.ts';
import { parseAs } from '../protocol/validate.ts';
import { type Context } from './context.ts';
import type { Value } from './database.ts';
import { newId } from './ids.ts';
import { attemptedOf, follow, insertAttempt, insertRollout, readAttempt, readRollout, selectAttempted, settle } from './rollout-rows.ts';
import { attemptStatusOf, defaultReason, isOpen, isTerminal } from './states.ts';
import { sweep } from './watchdog.ts';
import { occupyWorker } from './workers.ts';

export const RolloutInput = z.object({
  input: z.unknown(),
  run_id: z.string().nullish(),
  task_id: z.string().nullish(),
  step: z.number().int().nullish(),
  mode: RolloutMode.nullish(),
  resources_id: z.string().nullish(),
  config: RolloutConfig.prefault({}),
  metadata: z.record(z.string(), z.unknown()).nullish(),
});
export type RolloutInput = z.input<typeof RolloutInput>;

/** How an attempt ended. `reward` is a finite number exactly when the outcome is `scored`. */
export const AttemptEnd = z.object({
  outcome: Outcome,
  reward: z.number().nullish(),
  error: z.string().nullish(),
}).refine(({ outcome, reward }) => (outcome === 'scored') === (typeof reward === 'number'), { path: ['reward'], message: 'give a number exactly when the outcome is "scored"' });
export type AttemptEnd = z.input<typeof AttemptEnd>;

export type WaitingRollout = Pick<Rollout, 'rollout_id' | 'resources_id'>;

export interface RolloutQuery {
  run_id?: string;
  step?: number;
  mode?: RolloutMode;
  status_in?: readonly RolloutStatus[];
  /** `metadata.cache_key`. */
  cache_key?: string;
  limit?: number;
  offset?: number;
}

export function enqueueRollouts(context: Context, inputs: readonly RolloutInput[]): Rollout[] {
  const rollouts = inputs.map((each, index): Rollout => {
    const { input, run_id, task_id, step, mode, resources_id, config, metadata } = parseAs(RolloutInput, each, `Rollout ${index + 1} of ${inputs.length}`);
    return {
      rollout_id: newId('ro'), run_id: run_id ?? null, input, task_id: task_id ?? null, step: step ?? null, mode: mode ?? null,
      resources_id: resources_id ?? null, status: 'queuing', start_time: context.now(), end_time: null, config, metadata: metadata ?? null,
    };
  });
  context.write('normal', () => {
    for (const rollout of rollouts) {
      insertRollout(context, rollout);
      context.emit({ type: 'rollout', run_id: rollout.run_id, rollout: { ...rollout, attempt: null } });
    }
  });
  return rollouts;
}

/** Literally as in the index of waiting rollouts. */
const waiting = "r.status IN ('queuing', 'requeuing')";

/** The run's waiting rollouts, the oldest first, at most `limit`. */
export function waitingRollouts(context: Context, run_id: string, limit: number): WaitingRollout[] {
  sweep(context);
  return context.db.all(`SELECT r.rollout_id, r.resources_id FROM rollouts r WHERE ${waiting} AND r.run_id = ? ORDER BY r.position LIMIT ?`, run_id, limit)
    .map(({ rollout_id, resources_id }) => ({ rollout_id, resources_id }) as WaitingRollout);
}

/** Takes the oldest waiting rollout, or a certain one, and starts its next attempt. undefined: nothing waits. */
export function dequeueRollout(context: Context, worker_id: string, filter: { run_id?: string; rollout_id?: string } = {}): AttemptedRollout | undefined {
  return context.write('normal', () => {
    sweep(context);
    const wanted = (['run_id', 'rollout_id'] as const).filter((key) => filter[key] !== undefined);
    const row = context.db.get(`${selectAttempted} WHERE ${[waiting, ...wanted.map((key) => `r.${key} = ?`)].join(' AND ')} ORDER BY r.position LIMIT 1`, ...wanted.map((key) => filter[key]!));
    if (!row) return undefined;
    const rollout = attemptedOf(row);
    const attempt: Attempt = {
      rollout_id: rollout.rollout_id, attempt_id: newId('at'), sequence_id: (rollout.attempt?.sequence_id ?? 0) + 1, start_time: context.now(), end_time: null,
      status: 'preparing', worker_id, last_heartbeat_time: null, metadata: null, outcome: null, reward: null, error: null,
    };
    insertAttempt(context, attempt, rollout);
    occupyWorker(context, worker_id, attempt);
    return follow(context, { ...rollout, attempt });
  });
}

/**
 * Records how an attempt ended; its rollout follows. The first result of an attempt counts. The same one again changes
 * nothing; a different one is kept in `metadata.late_result` and counts for nothing.
 */
export function finishAttempt(context: Context, rollout_id: string, attempt_id: string, end: AttemptEnd): AttemptedRollout {
  const { outcome, reward, error } = parseAs(AttemptEnd, end, `The result of attempt ${attempt_id}`);
  const result = { outcome, reward: reward ?? null, error: outcome === 'scored' ? error ?? null : error ?? defaultReason[outcome] };
  return context.write('normal', () => {
    sweep(context);
    const attempt = readAttempt(context, rollout_id, attempt_id);
    if (!attempt) throw new TrainerError('not_found', `There is no attempt ${attempt_id} of rollout ${rollout_id}.`);
    if (isOpen(attempt)) return settle(context, { ...attempt, ...result, status: attemptStatusOf(outcome), end_time: context.now() });
    const same = attempt.outcome === result.outcome && attempt.reward === result.reward && attempt.error === result.error;
    if (same) return readRollout(context, rollout_id)!;
    return settle(context, { ...attempt, metadata: { ...attempt.metadata, late_result: { ...result, time: context.now() } } });
  });
}

/** Cancels what is not over yet and ends its running attempts. Returns how many rollouts that were. */
export function cancelRollouts(context: Context, filter: { run_id: string } | { rollout_ids: readonly string[] }): number {
  return context.write('normal', () => {
    sweep(context);
    const rollouts = 'run_id' in filter
      ? context.db.all(`${selectAttempted} WHERE r.run_id = ? AND r.status NOT IN ('succeeded', 'failed', 'cancelled') ORDER BY r.position`, filter.run_id).map(attemptedOf)
      : filter.rollout_ids.map((id) => requireRollout(context, id)).filter(({ status }) => !isTerminal(status));
    for (const rollout of rollouts) cancel(context, rollout);
    return rollouts.length;
  });
}

function cancel(context: Context, rollout: AttemptedRollout): void {
  const { attempt } = rollout;
  if (attempt && isOpen(attempt)) {
    settle(context, { ...attempt, outcome: 'cancelled', reward: null, error: defaultReason.cancelled, status: attemptStatusOf('cancelled'), end_time: context.now() });
  } else {
    follow(context, { ...rollout, status: 'cancelled' });
  }
}

export function getRollout(context: Context, rollout_id: string): AttemptedRollout | undefined {
  sweep(context);
  return readRollout(context, rollout_id);
}

export function requireRollout(context: Context, rollout_id: string): AttemptedRollout {
  const rollout = readRollout(context, rollout_id);
  if (!rollout) throw new TrainerError('not_found', `There is no rollout ${rollout_id}.`);
  return rollout;
}

const counted = "coalesce(json_extract(r.metadata, '$.superseded'), 0) = 0";

/**
 * Marks the rollouts of the run's steps from `from_step` on: a resumed run makes these steps anew. They stay readable, and
 * lists of a step leave them out. No events: nobody looks at a step that has not been made.
 */
export function supersedeRollouts(context: Context, run_id: string, from_step: number): void {
  context.write('normal', () => context.db.run(
    "UPDATE rollouts SET metadata = json_set(CASE metadata WHEN 'null' THEN '{}' ELSE metadata END, '$.superseded', json('true')) WHERE run_id = ? AND step >= ?",
    run_id, from_step,
  ));
}

/** In the order they were enqueued. */
export function listRollouts(context: Context, { run_id, step, mode, status_in, cache_key, limit, offset }: RolloutQuery): AttemptedRollout[] {
  sweep(context);
  const conditions: string[] = [];
  const values: Value[] = [];
  const require = (condition: string, ...required: Value[]) => {
    conditions.push(condition);
    values.push(...required);
  };
  if (run_id !== undefined) require('r.run_id = ?', run_id);
  if (step !== undefined) require(`r.step = ? AND ${counted}`, step);
  if (mode !== undefined) require('r.mode = ?', mode);
  if (status_in !== undefined) require(`r.status IN (${status_in.map(() => '?').join(', ')})`, ...status_in);
  if (cache_key !== undefined) require("json_extract(r.metadata, '$.cache_key') = ?", cache_key);
  const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
  return context.db.all(`${selectAttempted} ${where} ORDER BY r.position LIMIT ? OFFSET ?`, ...values, limit ?? -1, offset ?? 0).map(attemptedOf);
}
