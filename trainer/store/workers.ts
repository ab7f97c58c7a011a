import type { Attempt, WorkerInfo } from '../protocol/rollout.ts';
import { fromJson, toJson, type Context } from './context.ts';
import type { Row } from './database.ts';
import { isOpen } from './states.ts';

function workerOf(row: Row): WorkerInfo {
  return { ...row, heartbeat_stats: fromJson(row.heartbeat_stats) } as WorkerInfo;
}

/** The worker has taken the attempt: it is busy until the attempt is over. */
export function occupyWorker({ db, now }: Context, worker_id: string, attempt: Attempt): void {
  db.run(
    `INSERT INTO workers (worker_id, status, last_dequeue_time, last_busy_time, current_rollout_id, current_attempt_id, heartbeat_stats)
     VALUES (?1, 'busy', ?2, ?2, ?3, ?4, 'null')
     ON CONFLICT (worker_id) DO UPDATE SET status = 'busy', last_dequeue_time = ?2, last_busy_time = ?2, current_rollout_id = ?3, current_attempt_id = ?4`,
    worker_id, now(), attempt.rollout_id, attempt.attempt_id,
  );
}

/** The worker of a running attempt is busy, of a finished one idle; of an unresponsive one, nobody knows. */
export function followWorker({ db, now }: Context, attempt: Attempt): void {
  if (attempt.worker_id === null) return;
  const mine = 'worker_id = ? AND current_rollout_id = ? AND current_attempt_id = ?';
  const ids = [attempt.worker_id, attempt.rollout_id, attempt.attempt_id];
  if (isOpen(attempt)) {
    db.run(`UPDATE workers SET status = ? WHERE ${mine}`, attempt.status === 'unresponsive' ? 'unknown' : 'busy', ...ids);
  } else {
    db.run(`UPDATE workers SET status = 'idle', last_idle_time = ?, current_rollout_id = NULL, current_attempt_id = NULL WHERE ${mine}`, now(), ...ids);
  }
}

/** Makes the worker known, or notes that it lives. Without `stats` the last ones stay. */
export function heartbeat(context: Context, worker_id: string, stats?: Record<string, unknown>): WorkerInfo {
  const text = stats === undefined ? null : toJson(stats, 'The stats of a worker');
  context.write('normal', () => context.db.run(
    `INSERT INTO workers (worker_id, status, last_heartbeat_time, heartbeat_stats) VALUES (?1, 'idle', ?2, coalesce(?3, 'null'))
     ON CONFLICT (worker_id) DO UPDATE SET last_heartbeat_time = ?2, heartbeat_stats = coalesce(?3, heartbeat_stats),
       status = CASE WHEN current_attempt_id IS NULL THEN 'idle' ELSE 'busy' END`,
    worker_id, context.now(), text,
  ));
  return workerOf(context.db.get('SELECT * FROM workers WHERE worker_id = ?', worker_id)!);
}

export function listWorkers({ db }: Context): WorkerInfo[] {
  return db.all('SELECT * FROM workers ORDER BY worker_id').map(workerOf);
}
