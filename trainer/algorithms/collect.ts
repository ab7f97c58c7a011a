import type { Task } from '../datasets/tasks.ts';
import type { TrainConfig } from '../protocol/config.ts';
import { refillTasks, tasksOfStep } from './batches.ts';
import { requireWorking, rollOut, type RolloutPlan, type RolloutSource } from './rollouts.ts';
import { deriveSeed } from './seeds.ts';
import { batchConfig, hasVariance, type TracedRollout } from './training-batch.ts';

/** The rollouts of one step by task, as many as were sampled. */
export interface Collection { groups: TracedRollout[][]; rollout_s: number }

export interface Collecting { source: RolloutSource; train: Task[]; config: TrainConfig; clock(): () => number }

/**
 * Samples the groups of a step, with seeds that depend on nothing but the run's seed and the rollout's place. With
 * `filter_groups` groups without variance are made up for by groups of further tasks, none twice in a step, for at most
 * `max_num_gen_batches` rounds.
 */
export async function collectStep(collecting: Collecting, step: number): Promise<Collection> {
  const { train, config } = collecting;
  const { filter_groups, train_batch_size } = config.grpo;
  const seconds = collecting.clock();
  const first = tasksOfStep(step, train.length, train_batch_size, config.seed);
  const groups = await sampleGroups(collecting, step, first);
  if (filter_groups.enable) {
    const settings = batchConfig(config);
    const spare = refillTasks(step, train.length, first, config.seed);
    for (let round = 1; round < filter_groups.max_num_gen_batches && spare.length > 0; round++) {
      const missing = first.length - groups.filter((group) => hasVariance(group, settings)).length;
      if (missing <= 0) break;
      groups.push(...await sampleGroups(collecting, step, spare.splice(0, missing)));
    }
  }
  return { groups, rollout_s: seconds() };
}

async function sampleGroups({ source, train, config }: Collecting, step: number, positions: number[]): Promise<TracedRollout[][]> {
  const { group_size } = config.grpo;
  const rollouts = await rollOut(source, positions.flatMap((position) => groupPlans(train[position]!, step, config)));
  requireWorking(rollouts);
  const traced = rollouts.map((rollout) => ({ rollout, spans: source.store.listSpans(rollout.rollout_id) }));
  return positions.map((_, i) => traced.slice(i * group_size, (i + 1) * group_size));
}

function groupPlans(task: Task, step: number, { grpo, sampling, seed }: TrainConfig): RolloutPlan[] {
  return Array.from({ length: grpo.group_size }, (_, sample) => ({
    task, step, sampling, mode: 'train', seed: deriveSeed(seed, step, task.id, sample), metadata: { sample },
  }));
}

/**
 * The collections of successive steps, begun up to `ahead` steps before they are asked for: while the trainer learns from
 * one step, agents are at work on the next. A rollout of step s begins when step s - ahead is asked for, so at most `ahead`
 * updates lie between its sampling and its use.
 */
export class Collections {
  readonly #collecting: Collecting;
  readonly #ahead: number;
  readonly #stop = new AbortController();
  readonly #begun = new Map<number, Promise<Collection>>();

  constructor(collecting: Collecting, ahead: number) {
    const signal = AbortSignal.any([collecting.source.signal, this.#stop.signal]);
    this.#collecting = { ...collecting, source: { ...collecting.source, signal } };
    this.#ahead = ahead;
  }

  async of(step: number): Promise<Collection> {
    for (let next = step; next <= Math.min(step + this.#ahead, this.#collecting.config.grpo.steps - 1); next++) {
      if (this.#begun.has(next)) continue;
      const collection = collectStep(this.#collecting, next);
      collection.catch(() => undefined); // told when it is asked for
      this.#begun.set(next, collection);
    }
    const collection = await this.#begun.get(step)!;
    this.#begun.delete(step);
    return collection;
  }

  /** Cancels what nobody will ask for. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#begun.values());
  }
}
