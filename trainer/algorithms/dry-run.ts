import type { Task } from '../datasets/tasks.ts';
import { scoreOf } from '../evaluation/compare.ts';
import type { DevResult } from '../protocol/run.ts';
import { rollOut, summarise, type RolloutSource } from './rollouts.ts';
import { deriveSeed } from './seeds.ts';

/** Runs the agent once on each task, with the sampling parameters the agent itself asks for. Nothing is learned. */
export async function dryRun(source: RolloutSource, tasks: Task[], seed: number): Promise<DevResult> {
  const rollouts = await rollOut(source, tasks.map((task) => ({
    task, mode: null, step: null, sampling: {}, seed: deriveSeed(seed, 'dry run', task.id), metadata: {},
  })));
  const summaries = summarise(source.store, rollouts);
  return { run_id: source.run_id, rollouts: summaries, mean_reward: scoreOf(summaries.map((rollout) => rollout.reward)).mean_reward };
}
