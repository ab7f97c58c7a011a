import { TrainerError } from '../protocol/errors.ts';
import { Run, StepMetrics } from '../protocol/run.ts';
import { parseAs } from '../protocol/validate.ts';
import { fromJson, toJson, type Context } from './context.ts';

export function createRun(context: Context, run: Run): Run {
  const parsed = parseAs(Run, run, `Run ${run.run_id}`);
  context.write('full', () => {
    if (getRun(context, parsed.run_id)) throw new TrainerError('conflict', `Run ${parsed.run_id} exists already.`);
    context.db.run('INSERT INTO runs (run_id, create_time, body) VALUES (?, ?, ?)', parsed.run_id, parsed.create_time, toJson(parsed, 'A run'));
    context.emit({ type: 'run', run: parsed });
  });
  return parsed;
}

/** Changes the fields named in `patch`; the others stay. */
export function updateRun(context: Context, run_id: string, patch: Partial<Run>): Run {
  return context.write('full', () => {
    const run = parseAs(Run, { ...requireRun(context, run_id), ...patch, run_id }, `Run ${run_id}`);
    context.db.run('UPDATE runs SET create_time = ?, body = ? WHERE run_id = ?', run.create_time, toJson(run, 'A run'), run_id);
    context.emit({ type: 'run', run });
    return run;
  });
}

export function getRun({ db }: Context, run_id: string): Run | undefined {
  const row = db.get('SELECT body FROM runs WHERE run_id = ?', run_id);
  return row && (fromJson(row.body) as Run);
}

function requireRun(context: Context, run_id: string): Run {
  const run = getRun(context, run_id);
  if (!run) throw new TrainerError('not_found', `There is no run ${run_id}.`);
  return run;
}

/** Newest first. */
export function listRuns({ db }: Context): Run[] {
  return db.all('SELECT body FROM runs ORDER BY create_time DESC, position DESC').map(({ body }) => fromJson(body) as Run);
}

/** Removes a run with everything of it. */
export function deleteRun(context: Context, run_id: string): void {
  context.write('full', () => {
    requireRun(context, run_id);
    for (const table of ['spans', 'logs', 'attempts']) context.db.run(`DELETE FROM ${table} WHERE rollout_id IN (SELECT rollout_id FROM rollouts WHERE run_id = ?)`, run_id);
    for (const table of ['rollouts', 'steps', 'searches', 'candidates', 'answers', 'runs']) context.db.run(`DELETE FROM ${table} WHERE run_id = ?`, run_id);
    context.emit({ type: 'run-deleted', run_id });
  });
}

/** Records a training step; the same step again (a resumed run) replaces it. */
export function addStep(context: Context, run_id: string, metrics: StepMetrics): void {
  const parsed = parseAs(StepMetrics, metrics, `Step ${metrics.step} of run ${run_id}`);
  context.write('full', () => {
    requireRun(context, run_id);
    context.db.run('INSERT INTO steps (run_id, step, body) VALUES (?, ?, ?) ON CONFLICT (run_id, step) DO UPDATE SET body = excluded.body', run_id, parsed.step, toJson(parsed, 'A step'));
    context.emit({ type: 'step', run_id, metrics: parsed });
  });
}

export function listSteps({ db }: Context, run_id: string): StepMetrics[] {
  return db.all('SELECT body FROM steps WHERE run_id = ? ORDER BY step', run_id).map(({ body }) => fromJson(body) as StepMetrics);
}
