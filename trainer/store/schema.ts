import { messageOf, TrainerError } from '../protocol/errors.ts';
import { sqliteCode, type Database } from './database.ts';

/** SQLite's code for a statement that does not fit the tables. */
const sqlError = 1;

/**
 * Entry n brings a file from version n to n + 1. Text columns that hold outside content are JSON, which keeps every
 * character (NUL too) in either driver. `rollouts.position` is the queue order; `rollouts.latest` the sequence id of the
 * latest attempt, 0 before the first.
 */
const migrations: readonly string[] = [
  `
  CREATE TABLE runs (
    position INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, create_time REAL NOT NULL, body TEXT NOT NULL
  );
  CREATE TABLE steps (
    run_id TEXT NOT NULL, step INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (run_id, step)
  );
  CREATE TABLE rollouts (
    position INTEGER PRIMARY KEY, rollout_id TEXT NOT NULL UNIQUE, run_id TEXT, task_id TEXT, step INTEGER, mode TEXT,
    resources_id TEXT, status TEXT NOT NULL, latest INTEGER NOT NULL, start_time REAL NOT NULL, end_time REAL,
    input TEXT NOT NULL, config TEXT NOT NULL, metadata TEXT NOT NULL
  );
  CREATE INDEX rollouts_by_run ON rollouts (run_id, step);
  CREATE INDEX rollouts_waiting ON rollouts (run_id, position) WHERE status IN ('queuing', 'requeuing');
  CREATE TABLE attempts (
    rollout_id TEXT NOT NULL, sequence_id INTEGER NOT NULL, attempt_id TEXT NOT NULL, worker_id TEXT, status TEXT NOT NULL,
    start_time REAL NOT NULL, end_time REAL, last_heartbeat_time REAL, outcome TEXT, reward REAL, error TEXT NOT NULL,
    metadata TEXT NOT NULL, timeout_seconds REAL, unresponsive_seconds REAL, span_sequence INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (rollout_id, sequence_id), UNIQUE (rollout_id, attempt_id)
  );
  CREATE INDEX attempts_watched ON attempts (status) WHERE status IN ('preparing', 'running');
  CREATE TABLE spans (
    position INTEGER PRIMARY KEY, rollout_id TEXT NOT NULL, attempt_id TEXT NOT NULL, span_id TEXT NOT NULL,
    sequence_id INTEGER NOT NULL, start_time REAL NOT NULL, end_time REAL, body TEXT NOT NULL,
    UNIQUE (rollout_id, attempt_id, span_id)
  );
  CREATE TABLE logs (
    position INTEGER PRIMARY KEY, rollout_id TEXT NOT NULL, attempt_id TEXT NOT NULL, stream TEXT NOT NULL, length INTEGER NOT NULL, text TEXT NOT NULL
  );
  CREATE INDEX logs_by_attempt ON logs (rollout_id, attempt_id, stream);
  CREATE TABLE resources (
    version INTEGER PRIMARY KEY, resources_id TEXT NOT NULL UNIQUE, create_time REAL NOT NULL, update_time REAL NOT NULL, body TEXT NOT NULL
  );
  CREATE TABLE workers (
    worker_id TEXT PRIMARY KEY, status TEXT NOT NULL, last_heartbeat_time REAL, last_dequeue_time REAL, last_busy_time REAL,
    last_idle_time REAL, current_rollout_id TEXT, current_attempt_id TEXT, heartbeat_stats TEXT NOT NULL
  );
  `,
  // Searches for prompts. Answers of the optimiser are kept in the order they were given.
  `
  CREATE TABLE searches (run_id TEXT PRIMARY KEY, body TEXT NOT NULL);
  CREATE TABLE candidates (
    position INTEGER PRIMARY KEY, run_id TEXT NOT NULL, candidate_id TEXT NOT NULL, body TEXT NOT NULL, UNIQUE (run_id, candidate_id)
  );
  CREATE TABLE answers (position INTEGER PRIMARY KEY, run_id TEXT NOT NULL, body TEXT NOT NULL);
  CREATE INDEX answers_by_run ON answers (run_id);
  CREATE INDEX rollouts_by_key ON rollouts (json_extract(metadata, '$.cache_key')) WHERE json_extract(metadata, '$.cache_key') IS NOT NULL;
  `,
];

export const schemaVersion = migrations.length;

/** Creates or upgrades the tables, in one transaction. Throws TrainerError 'environment' on a file of a newer version. */
export function migrate(db: Database, file: string): void {
  const version = Number(db.get('PRAGMA user_version')?.user_version ?? 0);
  if (version > schemaVersion) {
    throw new TrainerError('environment', `${file} was written by a newer Agent Trainer (schema ${version}, this one knows ${schemaVersion}). Update Agent Trainer, or move the file away to start afresh.`);
  }
  if (version === schemaVersion) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    for (const step of migrations.slice(version)) db.exec(step);
    db.exec(`PRAGMA user_version = ${schemaVersion}`);
    db.exec('COMMIT');
  } catch (error) {
    db.exec('ROLLBACK');
    if (sqliteCode(error) !== sqlError) throw error;
    throw new TrainerError('environment', `${file} is a database of another program (${messageOf(error)}). Move it away to start afresh.`, { cause: error });
  }
}
