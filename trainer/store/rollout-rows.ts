import type { Attempt, AttemptedRollout, Rollout } from '../protocol/rollout.ts';
import { fromJson, toJson, type Context } from './context.ts';
import type { Row } from './database.ts';
import { derivedStatus, isTerminal } from './states.ts';
import { followWorker } from './workers.ts';

/** Every column of a rollout and, prefixed with `a_`, of its latest attempt. */
export const selectAttempted = `
  SELECT r.rollout_id, r.run_id, r.input, r.task_id, r.step, r.mode, r.resources_id, r.status, r.start_time, r.end_time, r.config, r.metadata,
    a.attempt_id AS a_attempt_id, a.sequence_id AS a_sequence_id, a.start_time AS a_start_time, a.end_time AS a_end_time, a.status AS a_status,
    a.worker_id AS a_worker_id, a.last_heartbeat_time AS a_last_heartbeat_time, a.metadata AS a_metadata, a.outcome AS a_outcome,
    a.reward AS a_reward, a.error AS a_error
  FROM rollouts r LEFT JOIN attempts a ON a.rollout_id = r.rollout_id AND a.sequence_id = r.latest`;

function attemptOf(row: Row, prefix: '' | 'a_'): Attempt {
  const column = (name: string) => row[`${prefix}${name}`];
  return {
    rollout_id: row.rollout_id, attempt_id: column('attempt_id'), sequence_id: column('sequence_id'), start_time: column('start_time'),
    end_time: column('end_time'), status: column('status'), worker_id: column('worker_id'), last_heartbeat_time: column('last_heartbeat_time'),
    metadata: fromJson(column('metadata')), outcome: column('outcome'), reward: column('reward'), error: fromJson(column('error')),
  } as Attempt;
}

export function attemptedOf(row: Row): AttemptedRollout {
  return {
    rollout_id: row.rollout_id, run_id: row.run_id, input: fromJson(row.input), task_id: row.task_id, step: row.step, mode: row.mode,
    resources_id: row.resources_id, status: row.status, start_time: row.start_time, end_time: row.end_time, config: fromJson(row.config),
    metadata: fromJson(row.metadata), attempt: row.a_attempt_id === null ? null : attemptOf(row, 'a_'),
  } as AttemptedRollout;
}

export function readRollout({ db }: Context, rollout_id: string): AttemptedRollout | undefined {
  const row = db.get(`${selectAttempted} WHERE r.rollout_id = ?`, rollout_id);
  return row && attemptedOf(row);
}

export function readAttempt({ db }: Context, rollout_id: string, attempt_id: string): Attempt | undefined {
  const row = db.get('SELECT * FROM attempts WHERE rollout_id = ? AND attempt_id = ?', rollout_id, attempt_id);
  return row && attemptOf(row, '');
}

/** All attempts of a rollout, the first first. */
export function readAttempts({ db }: Context, rollout_id: string): Attempt[] {
  return db.all('SELECT * FROM attempts WHERE rollout_id = ? ORDER BY sequence_id', rollout_id).map((row) => attemptOf(row, ''));
}

export function insertRollout({ db }: Context, rollout: Rollout): void {
  db.run(
    `INSERT INTO rollouts (rollout_id, run_id, task_id, step, mode, resources_id, status, latest, start_time, end_time, input, config, metadata)
     VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?)`,
    rollout.rollout_id, rollout.run_id, rollout.task_id, rollout.step, rollout.mode, rollout.resources_id, rollout.status, rollout.start_time,
    rollout.end_time, toJson(rollout.input, 'The input of a rollout'), toJson(rollout.config, 'The config of a rollout'), toJson(rollout.metadata, 'The metadata of a rollout'),
  );
}

export function insertAttempt({ db }: Context, attempt: Attempt, { config }: Rollout): void {
  db.run(
    `INSERT INTO attempts (rollout_id, sequence_id, attempt_id, worker_id, status, start_time, error, metadata, timeout_seconds, unresponsive_seconds)
     VALUES (?, ?, ?, ?, ?, ?, 'null', 'null', ?, ?)`,
    attempt.rollout_id, attempt.sequence_id, attempt.attempt_id, attempt.worker_id, attempt.status, attempt.start_time, config.timeout_seconds, config.unresponsive_seconds,
  );
  db.run('UPDATE rollouts SET latest = ? WHERE rollout_id = ?', attempt.sequence_id, attempt.rollout_id);
}

/** Writes a changed attempt, lets its worker and its rollout follow, and tells. Returns the rollout as it is now. */
export function settle(context: Context, attempt: Attempt): AttemptedRollout {
  const { db } = context;
  db.run(
    'UPDATE attempts SET status = ?, end_time = ?, last_heartbeat_time = ?, metadata = ?, outcome = ?, reward = ?, error = ? WHERE rollout_id = ? AND attempt_id = ?',
    attempt.status, attempt.end_time, attempt.last_heartbeat_time, toJson(attempt.metadata, 'The metadata of an attempt'), attempt.outcome, attempt.reward,
    toJson(attempt.error, 'The error of an attempt'), attempt.rollout_id, attempt.attempt_id,
  );
  followWorker(context, attempt);
  return follow(context, readRollout(context, attempt.rollout_id)!);
}

/** Brings a rollout's own state in line with its latest attempt. */
export function follow(context: Context, rollout: AttemptedRollout): AttemptedRollout {
  const status = derivedStatus(rollout, rollout.attempt);
  const end_time = isTerminal(status) ? rollout.end_time ?? context.now() : null;
  context.db.run('UPDATE rollouts SET status = ?, end_time = ? WHERE rollout_id = ?', status, end_time, rollout.rollout_id);
  const followed = { ...rollout, status, end_time };
  context.emit({ type: 'rollout', run_id: rollout.run_id, rollout: followed });
  return followed;
}
