import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { deriveSeed } from './seeds.ts';

/**
 * Positions of the tasks of a training step: each epoch is a seeded shuffle, its remainder dropped, so no task is twice
 * in a batch. A function of the step alone. With fewer tasks than `batchSize`, a batch is all of them.
 */
export function tasksOfStep(step: number, taskCount: number, batchSize: number, seed: number): number[] {
  const size = Math.min(batchSize, taskCount);
  const stepsPerEpoch = Math.floor(taskCount / size);
  const epoch = Math.floor(step / stepsPerEpoch);
  const start = (step % stepsPerEpoch) * size;
  return shuffled(taskCount, deriveSeed(seed, 'epoch', epoch)).slice(start, start + size);
}

/** Positions of the other tasks, in a seeded order of the step's own: what dynamic sampling goes on with. */
export function refillTasks(step: number, taskCount: number, used: readonly number[], seed: number): number[] {
  return shuffled(taskCount, deriveSeed(seed, 'refill', step)).filter((position) => !used.includes(position));
}

function shuffled(count: number, seed: number): number[] {
  const random = xoroshiro128plus(seed);
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const other = uniformInt(random, 0, i);
    [order[i], order[other]] = [order[other]!, order[i]!];
  }
  return order;
}
