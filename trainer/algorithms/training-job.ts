import type { Task } from '../datasets/tasks.ts';
import { scoreOf } from '../evaluation/compare.ts';
import type { TrainConfig } from '../protocol/config.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { Policy } from '../protocol/policy.ts';
import type { StepMetrics } from '../protocol/run.ts';
import { bestStep, type Checkpoints } from './checkpoints.ts';
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

/** The mean reward on the validation tasks after a step, where it is one that validates; else null. Those are every `test_freq`th, and the last only where the best is looked for: it is evaluated anyway. */
export async function validationReward({ source, validation, config }: TrainingJob, step: number, { steps, test_freq }: { steps: number; test_freq: number }): Promise<number | null> {
  const validates = step + 1 >= steps ? config.checkpoints.load_best_model_at_end : test_freq > 0 && (step + 1) % test_freq === 0;
  if (!validates) return null;
  const { scores } = await evaluate(source, validation, { label: `step ${step}`, mode: 'val', step, sampling: config.eval_sampling, seed: config.seed });
  return scoreOf(scores.map((score) => score.reward)).mean_reward;
}

/** Keeps the state after a step, whose metrics are in the store, where it is one to keep: every nth, the last, and the one that validated best so far. */
export async function keep({ policy, source, config, checkpoints }: TrainingJob, step: number, { steps }: { steps: number }): Promise<void> {
  const best = bestUntil(source.store.listSteps(source.run_id), step);
  if ((step + 1) % config.checkpoints.every === 0 || step + 1 === steps || best === step) await checkpoints.save(policy, step, best);
}

/** Which step validated best up to `last`: the store may know later ones, of a try that was interrupted. Null where none was validated. */
function bestUntil(steps: readonly StepMetrics[], last: number): number | null { return bestStep(steps.filter(({ step }) => step <= last)); }

/**
 * Puts the policy into the state that validated best, when that is asked for, and returns the step of the state it is in.
 * When the best checkpoint cannot be read, that is said, and the policy stays as it is.
 */
export async function loadBest(job: TrainingJob, steps: number): Promise<number> {
  const { policy, source, config, checkpoints } = job;
  const last = steps - 1;
  const best = config.checkpoints.load_best_model_at_end ? bestUntil(source.store.listSteps(source.run_id), last) : null;
  if (best === null || best === last) return last;
  const folder = checkpoints.list().find(({ step }) => step === best)?.folder;
  try {
    if (folder === undefined) throw new TrainerError('not_found', 'its checkpoint is not there');
    await policy.restore(folder);
    job.notice('info', `The model of step ${best + 1} of ${steps} is kept: its reward on the validation tasks was the best. Since it was chosen by them, its score on them looks better than on other tasks.`);
    return best;
  } catch (error) {
    if (!(error instanceof TrainerError) || (error.code !== 'bad_input' && error.code !== 'not_found')) throw error;
    job.notice('warning', `Step ${best + 1} validated best, but its model cannot be loaded, and that of the last step is kept: ${error.message}`);
    return last;
  }
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
