import { z } from 'zod';
import { Score } from '../../trainer/protocol/run.ts';
import type { Run, StepMetrics } from '../../trainer/protocol/run.ts';

const Result = z.looseObject({ mean_reward: z.number().nullable().optional(), policy: Score.optional(), after: Score.optional() });

/** The mean reward a run ended with, or has reached so far; null when nothing was scored. */
export function lastReward(run: Run, steps: StepMetrics[]): number | null {
  const result = Result.safeParse(run.result);
  const final = result.success ? result.data.mean_reward ?? result.data.policy?.mean_reward ?? result.data.after?.mean_reward : undefined;
  return final ?? steps.findLast((step) => step.reward_mean !== null)?.reward_mean ?? null;
}
