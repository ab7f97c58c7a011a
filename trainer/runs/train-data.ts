import { createHash } from 'node:crypto';
import path from 'node:path';
import { splitTasks } from '../datasets/split.ts';
import { assertDisjoint } from '../datasets/overlap.ts';
import type { Task } from '../datasets/tasks.ts';
import type { TrainConfig } from '../protocol/config.ts';
import { TrainerError } from '../protocol/errors.ts';
import { requireTasks } from './agents.ts';

export interface TrainData {
  train: Task[];
  validation: Task[];
  warnings: string[];
  /** Tells whether the files still hold what the run began with. */
  fingerprint: string;
}

/** Both sides of a training run's tasks; paths are relative to `folder`. Throws TrainerError 'bad_input' on a bad or empty file. */
export async function loadTrainData({ data, seed }: TrainConfig, folder: string): Promise<TrainData> {
  const trainFile = path.resolve(folder, data.train);
  const all = await requireTasks(trainFile, data.validation === undefined ? undefined : data.limit);
  const sides = data.validation === undefined
    ? splitTasks(all, { validation_share: data.validation_share, seed })
    : { train: all, validation: await requireTasks(path.resolve(folder, data.validation), data.limit) };
  const train = distinct(sides.train.slice(0, data.limit));
  const validation = distinct(sides.validation.slice(0, data.limit));
  if (train.length === 0 || validation.length === 0) throw new TrainerError('bad_input', `${trainFile} has too few different tasks to split into training and validation (${all.length}). Add tasks, or name a file of its own with data.validation.`);

  const dropped = Math.min(sides.train.length, data.limit ?? Infinity) - train.length + Math.min(sides.validation.length, data.limit ?? Infinity) - validation.length;
  return {
    train, validation,
    warnings: [
      ...(data.validation === undefined ? [] : assertDisjoint(train, validation)),
      ...(dropped === 0 ? [] : [`${dropped} task(s) are repeated in their file and used once.`]),
    ],
    fingerprint: createHash('sha256').update(JSON.stringify([train, validation].map((side) => side.map(({ id, input }) => [id, input])))).digest('hex'),
  };
}

/** Identical tasks have the same id; as one group or one pair each they would count twice. */
function distinct(tasks: Task[]): Task[] {
  return [...new Map(tasks.map((task) => [task.id, task])).values()];
}
