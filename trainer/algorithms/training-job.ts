import type { Task } from '../datasets/tasks.ts';
import { scoreOf } from '../evaluation/compare.ts';
import type { TrainConfig } from '../protocol/config.ts';
import type { Policy } from '../protocol/policy.ts';
import type { Checkpoints } from './checkpoints.ts';
import { evaluate } from './evaluate.ts';
import type { RolloutSource } from './rollouts.ts';

/** What every kind of training works with. */
export interface TrainingJob {
  source: RolloutSource;
  policy: Policy;
  validation: Task[];
  config: TrainConfig;
  checkpoints: Checkpoints;
  /** 0, or the one after the last checkpoint. */
  firstStep: number;
  /** Seconds the evaluation after the training will take, for the time left. */
  evaluation_s: number;
  /** Seconds the run has been paused so far: they belong to no rate. */
  paused_s(): number;
  notice(level: 'info' | 'warning', message: string): void;
}

/** The mean reward on the validation tasks after a step, where it is one that validates (`test_freq`) and not the last; else null. */
export async function validationReward({ source, validation, config }: TrainingJob, step: number, { steps, test_freq }: { steps: number; test_freq: number }): Promise<number | null> {
  if (test_freq === 0 || (step + 1) % test_freq !== 0 || step + 1 >= steps) return null;
  const { scores } = await evaluate(source, validation, { label: `step ${step}`, mode: 'val', step, sampling: config.eval_sampling, seed: config.seed });
  return scoreOf(scores.map((score) => score.reward)).mean_reward;
}

/** Keeps the state after a step, where it is one to keep: every nth, and the last. */
export async function keep({ policy, config, checkpoints }: TrainingJob, step: number, { steps }: { steps: number }): Promise<void> {
  if ((step + 1) % config.checkpoints.every === 0 || step + 1 === steps) await checkpoints.save(policy, step);
}

/** Mean of the last five steps, times the steps to come. */
export function secondsLeft(stepSeconds: number[], steps: number): number {
  const recent = stepSeconds.slice(-5);
  return (recent.reduce((sum, seconds) => sum + seconds, 0) / recent.length) * steps;
}

/** Seconds since now, without those in which the run is paused. */
export function workingClock(job: Pick<TrainingJob, 'paused_s'>): () => number {
  const [began, paused] = [performance.now(), job.paused_s()];
  return () => (performance.now() - began) / 1000 - (job.paused_s() - paused);
}
