import type { z } from 'zod';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import type { Candidate, OptimizerAnswer, SearchRecord } from '../protocol/optimize.ts';
import type { Attempt, AttemptedRollout, Resource, ResourceBundle, Rollout, WorkerInfo } from '../protocol/rollout.ts';
import type { TrainerEvent, Waiting } from '../protocol/rpc.ts';
import type { Run, StepMetrics } from '../protocol/run.ts';
import type { Span } from '../protocol/span.ts';
import { recentAttempts, type RecentAttempt } from './annotations.ts';
import { createContext, explaining } from './context.ts';
import { openDatabase, type Database, type Driver } from './database.ts';
import { readAttempts } from './rollout-rows.ts';
import { appendLog, getLogs, type Logs, type LogStream } from './logs.ts';
import { addResources, getResources, latestResources } from './resources.ts';
import { cancelRollouts, dequeueRollout, enqueueRollouts, finishAttempt, getRollout, listRollouts, supersedeRollouts, waitingRollouts, type AttemptEnd, type RolloutInput, type RolloutQuery, type WaitingRollout } from './rollouts.ts';
import { addStep, createRun, deleteRun, getRun, listRuns, listSteps, updateRun } from './runs.ts';
import { migrate } from './schema.ts';
import { addAnswer, getSearch, listAnswers, listCandidates, putCandidate, saveSearch } from './searches.ts';
import { addSpans, countSpans, listSpans, nextSequenceId } from './spans.ts';
import { createWaits } from './waits.ts';
import { heartbeat, listWorkers } from './workers.ts';

export type { AttemptEnd, Logs, LogStream, RolloutInput, RolloutQuery, WaitingRollout };

/**
 * The state of the trainer. Every call that returned is kept, whatever happens to the process afterwards.
 * Wrong input throws TrainerError 'bad_input', an unknown id 'not_found', trouble with the file 'environment'.
 */
export interface Store {
  createRun(run: Run): Run;
  updateRun(run_id: string, patch: Partial<Run>): Run;
  getRun(run_id: string): Run | undefined;
  /** Newest first. */
  listRuns(): Run[];
  /** With its steps, rollouts, spans and logs. */
  deleteRun(run_id: string): void;
  /** Replaces the same step (resume). */
  addStep(run_id: string, metrics: StepMetrics): void;
  listSteps(run_id: string): StepMetrics[];

  /** Begins the record of a search for prompts, or replaces it. */
  saveSearch(record: SearchRecord): void;
  getSearch(run_id: string): SearchRecord | undefined;
  /** Records a candidate as it is now (a known id replaces), together with what the search had found and spent by then. */
  putCandidate(run_id: string, candidate: Candidate, now: Pick<SearchRecord, 'best' | 'spent'>): void;
  /** In the order they were proposed. */
  listCandidates(run_id: string): Candidate[];
  addAnswer(run_id: string, answer: OptimizerAnswer): void;
  /** In the order they were given. */
  listAnswers(run_id: string): OptimizerAnswer[];

  enqueueRollouts(inputs: readonly RolloutInput[]): Rollout[];
  /** The oldest first, at most `limit`. */
  waitingRollouts(run_id: string, limit: number): WaitingRollout[];
  /** Starts the next attempt ('preparing') of the oldest waiting rollout, or of the one that is named. */
  dequeueRollout(worker_id: string, filter?: { run_id?: string; rollout_id?: string }): AttemptedRollout | undefined;
  /** The first result of an attempt counts; a different later one is kept in `metadata.late_result`. */
  finishAttempt(rollout_id: string, attempt_id: string, end: AttemptEnd): AttemptedRollout;
  /** How many were not over yet. */
  cancelRollouts(filter: { run_id: string } | { rollout_ids: readonly string[] }): number;
  getRollout(rollout_id: string): AttemptedRollout | undefined;
  /** Those of steps from `from_step` on are made anew by a resumed run: lists of a step leave them out from now on. */
  supersedeRollouts(run_id: string, from_step: number): void;
  /** The first attempt first. */
  listAttempts(rollout_id: string): Attempt[];
  /** In the order they were enqueued; with `step`, without the superseded ones. */
  listRollouts(query: RolloutQuery): AttemptedRollout[];
  /** Resolves when all are terminal, in the order of `ids`. Rejects with TrainerError 'cancelled' on abort or close. */
  waitForRollouts(ids: readonly string[], options?: { signal?: AbortSignal }): Promise<AttemptedRollout[]>;

  nextSequenceId(rollout_id: string, attempt_id: string): number;
  /** All or none; a span with known ids is left as it was. The first span makes its attempt 'running'; every one is a heartbeat. */
  addSpans(spans: readonly Span[]): void;
  /** Of the latest attempt unless told, in order. */
  listSpans(rollout_id: string, attempt_id?: string): Span[];
  /** Spans of the latest attempt of each rollout. */
  countSpans(rollout_ids: readonly string[]): Map<string, number>;
  /** The latest ended attempts of each agent, at most `limit` of each, newest first. */
  recentAttempts(limit: number): RecentAttempt[];
  appendLog(rollout_id: string, attempt_id: string, stream: LogStream, text: string): void;
  getLogs(rollout_id: string, attempt_id?: string): Logs;

  addResources(resources: Record<string, z.input<typeof Resource>>): ResourceBundle;
  getResources(resources_id: string): ResourceBundle | undefined;
  latestResources(): ResourceBundle | undefined;
  heartbeat(worker_id: string, stats?: Record<string, unknown>): WorkerInfo;
  listWorkers(): WorkerInfo[];

  /** Tells the listeners a line about the run; kept nowhere. */
  notice(run_id: string, level: 'info' | 'warning', message: string, waiting?: Waiting | null): void;
  /** Run, step, candidate, rollout and spans events, each after its commit, and notices. Returns the way to stop listening. */
  onEvent: (listener: (event: TrainerEvent) => void) => () => void;
  close(): void;
}

export interface StoreOptions {
  /** Seconds since the epoch; for tests of time limits. */
  now?: () => number;
  driver?: Driver;
}

/** Opens or creates the store in `file` (or ':memory:'). Throws TrainerError 'environment' on a file it cannot use. */
export function openStore(file: string, { now = () => Date.now() / 1000, driver }: StoreOptions = {}): Store {
  const db = prepare(file, driver);
  const context = createContext(db, now);
  const waits = createWaits(context);
  return {
    createRun: (run) => createRun(context, run),
    updateRun: (run_id, patch) => updateRun(context, run_id, patch),
    getRun: (run_id) => getRun(context, run_id),
    listRuns: () => listRuns(context),
    deleteRun: (run_id) => deleteRun(context, run_id),
    addStep: (run_id, metrics) => addStep(context, run_id, metrics),
    listSteps: (run_id) => listSteps(context, run_id),
    saveSearch: (record) => saveSearch(context, record),
    getSearch: (run_id) => getSearch(context, run_id),
    putCandidate: (run_id, candidate, now) => putCandidate(context, run_id, candidate, now),
    listCandidates: (run_id) => listCandidates(context, run_id),
    addAnswer: (run_id, answer) => addAnswer(context, run_id, answer),
    listAnswers: (run_id) => listAnswers(context, run_id),
    enqueueRollouts: (inputs) => enqueueRollouts(context, inputs),
    waitingRollouts: (run_id, limit) => waitingRollouts(context, run_id, limit),
    dequeueRollout: (worker_id, filter) => dequeueRollout(context, worker_id, filter),
    finishAttempt: (rollout_id, attempt_id, end) => finishAttempt(context, rollout_id, attempt_id, end),
    cancelRollouts: (filter) => cancelRollouts(context, filter),
    getRollout: (rollout_id) => getRollout(context, rollout_id),
    supersedeRollouts: (run_id, from_step) => supersedeRollouts(context, run_id, from_step),
    listAttempts: (rollout_id) => readAttempts(context, rollout_id),
    listRollouts: (query) => listRollouts(context, query),
    waitForRollouts: waits.waitForRollouts,
    nextSequenceId: (rollout_id, attempt_id) => nextSequenceId(context, rollout_id, attempt_id),
    addSpans: (spans) => addSpans(context, spans),
    listSpans: (rollout_id, attempt_id) => listSpans(context, rollout_id, attempt_id),
    countSpans: (rollout_ids) => countSpans(context, rollout_ids),
    recentAttempts: (limit) => recentAttempts(context, limit),
    appendLog: (rollout_id, attempt_id, stream, text) => appendLog(context, rollout_id, attempt_id, stream, text),
    getLogs: (rollout_id, attempt_id) => getLogs(context, rollout_id, attempt_id),
    addResources: (resources) => addResources(context, resources),
    getResources: (resources_id) => getResources(context, resources_id),
    latestResources: () => latestResources(context),
    heartbeat: (worker_id, stats) => heartbeat(context, worker_id, stats),
    listWorkers: () => listWorkers(context),
    notice: (run_id, level, message, waiting) => context.write('normal', () => context.emit({ type: 'notice', run_id, level, message, ...(waiting === undefined ? {} : { waiting }) })),
    onEvent: context.onEvent,
    close: () => {
      waits.close();
      db.close();
    },
  };
}

function prepare(file: string, driver: Driver | undefined): Database {
  const db = explaining(open(file, driver), file);
  try {
    db.exec('PRAGMA busy_timeout = 5000');
    db.exec('PRAGMA journal_mode = WAL');
    migrate(db, file);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function open(file: string, driver: Driver | undefined): Database {
  try {
    return openDatabase(file, driver);
  } catch (error) {
    const remedy = (error as { code?: unknown }).code === 'MODULE_NOT_FOUND'
      ? `This Node (${process.version}) has no SQLite of its own: use Node 22.13 or newer, or install again for this platform.`
      : 'Check that its folder exists and is writable.';
    throw new TrainerError('environment', `The database ${file} cannot be opened (${messageOf(error)}). ${remedy}`, { cause: error });
  }
}
