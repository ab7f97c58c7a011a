import { createHash } from 'node:crypto';
import path from 'node:path';
import { assertDisjoint, splitTasks } from '../datasets/split.ts';
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
export async function loadTrainData({ data, seed }: TrainConfig, folder: string): Promise<TrainData> {
  const all = await loadTasks(path.resolve(folder, data.train));
  const sides = data.validation === undefined
    ? splitTasks(all, { validation_share: data.validation_share, seed })
    : { train: all, validation: await loadTasks(path.resolve(folder, data.validation)) };
  const train = sides.train.slice(0, data.limit);
  const validation = sides.validation.slice(0, data.limit);
  return {
    train, validation,
    warnings: assertDisjoint(train, validation),
    fingerprint: createHash('sha256').update(JSON.stringify([train, validation].map((side) => side.map(({ id, input }) => [id, input])))).digest('hex'),
  };
}
