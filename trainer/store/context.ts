import { messageOf, TrainerError } from '../protocol/errors.ts';
import type { TrainerEvent } from '../protocol/rpc.ts';
import { sqliteCode, type Database, type Value } from './database.ts';

/**
 * `normal`: survives the death of this process (kill -9), and reaches the disk at the latest with the next `full` write.
 * `full`: on disk when the call returns, together with all before it (one WAL, synced as a whole), even if the power fails.
 * Rollouts and spans are `normal`: a sync costs 0.4 to 20 ms, and what a power cut takes is less than the step that a resumed
 * run repeats anyway. Runs and steps are `full`.
 */
export type Durability = 'full' | 'normal';

/** What the parts of the store share: the connection, the clock, transactions, events. */
export interface Context {
  readonly db: Database;
  /** Seconds since the epoch. */
  readonly now: () => number;
  /** Runs `work` in one transaction; events it emits go out after the commit, none if it throws. Nested calls join the outer one. */
  write<T>(durability: Durability, work: () => T): T;
  emit(event: TrainerEvent): void;
  onEvent: (listener: (event: TrainerEvent) => void) => () => void;
}

export function createContext(db: Database, now: () => number): Context {
  const listeners = new Set<(event: TrainerEvent) => void>();
  const outgoing: TrainerEvent[] = [];
  let pending: TrainerEvent[] | null = null;
  let delivering = false;
  let synchronous: Durability | null = null;

  function deliver(): void {
    if (delivering) return; // a listener wrote: its events follow the present ones
    delivering = true;
    for (let event = outgoing.shift(); event; event = outgoing.shift()) {
      for (const listener of [...listeners]) {
        try {
          listener(event);
        } catch (error) {
          // The write is committed: its caller must not see the failure of a listener.
          queueMicrotask(() => { throw error; });
        }
      }
    }
    delivering = false;
  }

  function transaction<T>(durability: Durability, work: () => T): T {
    if (synchronous !== durability) {
      db.exec(`PRAGMA synchronous = ${durability.toUpperCase()}`);
      synchronous = durability;
    }
    db.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      db.exec('COMMIT');
      return result;
    } catch (error) {
      try {
        db.exec('ROLLBACK');
      } catch {
        // SQLite has already rolled back by itself (full disk); the first error is the one to report.
      }
      throw error;
    }
  }

  return {
    db,
    now,
    write: (durability, work) => {
      if (pending) return work();
      pending = [];
      try {
        const result = transaction(durability, work);
        outgoing.push(...pending);
        return result;
      } finally {
        pending = null;
        deliver();
      }
    },
    emit: (event) => {
      if (!pending) throw new Error('An event outside a transaction');
      pending.push(event);
    },
    onEvent: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

const remedies: Record<number, string> = {
  5: 'Another program keeps it locked: close that program.',
  8: 'The file cannot be written: check its permissions.',
  10: 'The disk reported an error: check it and its free space.',
  11: 'The file is damaged: restore a copy, or move it away to start afresh.',
  13: 'The disk is full: free some space.',
  14: 'Its folder or one of its files cannot be written: check their permissions.',
  26: 'It is not a database of Agent Trainer: move it away to start afresh.',
};

/** The same database, whose errors about the file say what to do. */
export function explaining(db: Database, file: string): Database {
  const told = <Result>(call: () => Result): Result => {
    try {
      return call();
    } catch (error) {
      throw explained(error, file);
    }
  };
  return {
    ...db,
    exec: (sql) => told(() => db.exec(sql)),
    all: (sql, ...values) => told(() => db.all(sql, ...values)),
    get: (sql, ...values) => told(() => db.get(sql, ...values)),
    run: (sql, ...values) => told(() => db.run(sql, ...values)),
  };
}

/** SQLite's error about the file as a TrainerError that says what to do; any other error as it is. */
function explained(error: unknown, file: string): unknown {
  const remedy = remedies[sqliteCode(error) ?? 0];
  return remedy ? new TrainerError('environment', `The database ${file} failed (${messageOf(error)}). ${remedy}`, { cause: error }) : error;
}

/** JSON text of a value from outside. Throws TrainerError 'bad_input' when it has none (undefined, a function, a BigInt, a cycle). */
export function toJson(value: unknown, subject: string): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    throw new TrainerError('bad_input', `${subject} cannot be written as JSON: ${messageOf(error)}.`, { cause: error });
  }
  if (text === undefined) throw new TrainerError('bad_input', `${subject} cannot be written as JSON: it is ${typeof value}.`);
  return text;
}

export function fromJson(text: Value | undefined): unknown {
  return JSON.parse(text as string);
}
