import { createHash } from 'node:crypto';
import path from 'node:path';
import { assertDisjoint, splitTasks, type Split } from '../datasets/split.ts';
import { loadTasks, type Task } from '../datasets/tasks.ts';
import type { TrainConfig } from '../protocol/config.ts';

export interface TrainData {
  /** Neither side is empty. */
  train: Task[];
  validation: Task[];
  warnings: string[];
  /** Tells whether the files still hold what the run began with. */
  fingerprint: string;
}

/** Both sides of a training run's tasks; paths are relative to `folder`. Throws TrainerError 'bad_input' on a bad or empty file. */
export async function loadTrainData(config: TrainConfig, folder: string): Promise<TrainData> {
  const { data } = config;
  const all = await loadTasks(path.resolve(folder, data.train));
  const sides = data.validation === undefined ? splitOf(config, all) : { train: all, validation: await loadTasks(path.resolve(folder, data.validation)) };
  const train = sides.train.slice(0, data.limit);
  const validation = sides.validation.slice(0, data.limit);
  return {
    train, validation,
    warnings: assertDisjoint(train, validation),
    fingerprint: createHash('sha256').update(JSON.stringify([train, validation].map((side) => side.map(({ id, input }) => [id, input])))).digest('hex'),
  };
}

/** The validation side alone, and the file it is from. Throws as loadTrainData does. */
export async function loadValidation(config: TrainConfig, folder: string): Promise<{ file: string; tasks: Task[] }> {
  const { data } = config;
  const file = path.resolve(folder, data.validation ?? data.train);
  const tasks = await loadTasks(file);
  return { file, tasks: (data.validation === undefined ? splitOf(config, tasks).validation : tasks).slice(0, data.limit) };
}

function splitOf({ data, seed }: TrainConfig, tasks: Task[]): Split {
  return splitTasks(tasks, { validation_share: data.validation_share, seed });
}
