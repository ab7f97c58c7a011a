import { existsSync } from 'node:fs';
import { appendFile, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import { funnelStages, type Checkpoint, type Run, type StepMetrics } from '../protocol/run.ts';
import type { Store } from '../store/store.ts';

export interface Exported { folder: string; files: string[] }

/** Rollouts read and written at a time: traces of a long run need not fit into memory. */
const batch = 50;

/**
 * Writes a run as files other programs read: run.json (record, and where its checkpoints are), metrics.json and
 * metrics.csv (a row per step), traces.jsonl (a rollout per line, with its spans and output). All or nothing: the folder
 * appears when it is complete. Throws TrainerError 'conflict' when it exists, 'environment' when it cannot be written.
 */
export async function exportRun(store: Store, run: Run, models: { checkpoints: Checkpoint[]; policy: string | null }, folder: string): Promise<Exported> {
  if (existsSync(folder)) throw new TrainerError('conflict', `${folder} exists already. Choose a folder that does not, so that nothing is overwritten.`);
  const partial = `${folder}.partial`;
  const steps = store.listSteps(run.run_id);
  try {
    await rm(partial, { recursive: true, force: true });
    await mkdir(partial, { recursive: true });
    await writeFile(path.join(partial, 'run.json'), json({ run, ...models }));
    await writeFile(path.join(partial, 'metrics.json'), json(steps));
    await writeFile(path.join(partial, 'metrics.csv'), metricsCsv(steps));
    await writeTraces(store, run.run_id, path.join(partial, 'traces.jsonl'));
    await rename(partial, folder);
  } catch (error) {
    await rm(partial, { recursive: true, force: true }).catch(() => undefined); // the first error is the one to report
    throw new TrainerError('environment', `The run could not be exported to ${folder}: ${messageOf(error)}. Check that the place is writable and has room.`, { cause: error });
  }
  return { folder, files: ['run.json', 'metrics.json', 'metrics.csv', 'traces.jsonl'] };
}

async function writeTraces(store: Store, run_id: string, file: string): Promise<void> {
  await writeFile(file, '');
  for (let offset = 0; ; offset += batch) {
    const rollouts = store.listRollouts({ run_id, limit: batch, offset });
    if (rollouts.length === 0) return;
    await appendFile(file, rollouts.map((rollout) => `${JSON.stringify({ rollout, spans: store.listSpans(rollout.rollout_id), ...store.getLogs(rollout.rollout_id) })}\n`).join(''));
  }
}

/** One row per step: every number of it, then the counts of its funnel. What was not measured is an empty cell. */
export function metricsCsv(steps: readonly StepMetrics[]): string {
  const rows = steps.map(({ funnel, ...numbers }): Record<string, number | boolean | null> => ({ ...numbers, ...Object.fromEntries(funnelStages.map((stage) => [`funnel_${stage}`, funnel[stage]])) }));
  const columns = [...new Set(rows.flatMap(Object.keys))];
  return [columns, ...rows.map((row) => columns.map((column) => row[column] ?? ''))].map((cells) => `${cells.join(',')}\n`).join('');
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
