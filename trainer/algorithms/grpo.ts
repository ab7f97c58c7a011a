/**
 * Group relative policy optimisation and its relatives: every step samples `group_size` rollouts of each of
 * `train_batch_size` tasks, compares each with its group, and makes one policy update on all of them.
 * By default on-policy and as in DAPO: clip-higher, loss per token over the whole step, no KL. Dr. GRPO, RLOO, REINFORCE++ and GSPO
 * are settings of the advantage (estimate.ts) and of the loss (rows.ts, policy-loss.ts). Left out: a value function.
 * Run it with: agent-trainer train agent-trainer.json
 */
import type { Task } from '../datasets/tasks.ts';
import { scoreOf } from '../evaluation/compare.ts';
import type { TrainConfig } from '../protocol/config.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { Policy } from '../protocol/policy.ts';
import type { Checkpoints } from './checkpoints.ts';
import { Collections } from './collect.ts';
import { evaluate } from './evaluate.ts';
import { whyNothing } from './funnel.ts';
import { meanKl, referenceKl } from './reward-kl.ts';
import { throwIfCancelled, type RolloutSource } from './rollouts.ts';
import { learningRate } from './schedule.ts';
import { generatedTokens, staleness, stepMetrics } from './step-metrics.ts';
import { batchConfig, trainingBatch } from './training-batch.ts';

export interface GrpoJob {
  source: RolloutSource;
  policy: Policy;
  train: Task[];
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

/** Sampler and trainer must compute the same probabilities; above this mean |ratio - 1| a run learns from noise. */
const maxRatioDeviation = 1e-2;

/** Trains until `grpo.steps`. Throws TrainerError 'cancelled', 'numeric' or 'environment'; the last checkpoint stays. */
export async function trainGrpo(job: GrpoJob): Promise<void> {
  const { source, policy, train, config, checkpoints } = job;
  const { grpo } = config;
  const stepSeconds: number[] = [];
  let lastReason: string | null = null; // said once, not at every step that it holds for

  const collections = new Collections({ source, train, config, clock: () => workingClock(job) }, grpo.max_staleness);
  try {
    for (let step = job.firstStep; step < grpo.steps; step++) {
      const clock = workingClock(job);

      // 1. Sample.
      const { groups, rollout_s } = await collections.of(step);
      const traced = groups.flat();

      // 2. Compare each rollout with its group.
      const kl = grpo.kl_coef > 0 ? { coef: grpo.kl_coef, tokens: await referenceKl(policy, traced, grpo) } : null;
      const batch = trainingBatch(groups, batchConfig(config), kl);

      // 3. Learn.
      throwIfCancelled(source.signal);
      const learning = performance.now();
      const stale = staleness(traced, policy.version);
      const lr = learningRate(step, grpo);
      const update = batch.mini_batches.length === 0 ? null : await policy.update(batch.mini_batches, { ...grpo, lr });
      const train_s = (performance.now() - learning) / 1000;
      const reason = update ? null : whyNothing(batch.funnel);
      if (reason !== null && reason !== lastReason) job.notice('warning', `Step ${step + 1}: nothing to learn from, the policy stays as it is: ${reason}.${hint(reason)}`);
      lastReason = reason;
      // A policy that has moved since the sampling disagrees by right.
      if (update && !stale && update.ratio_deviation > maxRatioDeviation) disagreement(job, step, update.ratio_deviation);

      // 4. Validate, report, keep.
      const validates = grpo.test_freq > 0 && (step + 1) % grpo.test_freq === 0 && step + 1 < grpo.steps;
      const val_reward = validates ? await validationReward(job, step) : null;
      stepSeconds.push(clock());
      source.store.addStep(source.run_id, stepMetrics({
        step, lr, batch, update, val_reward, rollout_s, train_s, staleness: stale, kl: kl === null ? null : meanKl(kl.tokens),
        policy_version: policy.version, rollouts: traced.length, generated_tokens: generatedTokens(traced),
        eta_s: secondsLeft(stepSeconds, grpo.steps - step - 1) + job.evaluation_s,
      }));
      if ((step + 1) % config.checkpoints.every === 0 || step + 1 === grpo.steps) await checkpoints.save(policy, step);
    }
  } finally {
    await collections.close();
  }
}

function hint(reason: string): string {
  if (!reason.startsWith('group without variance')) return '';
  return ' All tries at a task earned the same reward. Learning needs tasks that the model gets right sometimes, but not always.';
}

async function validationReward({ source, validation, config }: GrpoJob, step: number): Promise<number | null> {
  const { scores } = await evaluate(source, validation, { label: `step ${step}`, mode: 'val', step, sampling: config.eval_sampling, seed: config.seed });
  return scoreOf(scores.map((score) => score.reward)).mean_reward;
}

/** Stops a run that begins with a disagreement; later, when weights have grown apart by rounding, it is worth a warning. */
function disagreement(job: GrpoJob, step: number, deviation: number): void {
  const message = `Step ${step + 1}: the trainer's probabilities differ from the sampler's by ${deviation.toExponential(1)} on average (at most ${maxRatioDeviation} is sound).`;
  if (step === job.firstStep) throw new TrainerError('numeric', `${message} Training on them would learn from noise; use the CPU provider and report this.`);
  job.notice('warning', message);
}

/** Mean of the last five steps, times the steps to come. */
function secondsLeft(stepSeconds: number[], steps: number): number {
  const recent = stepSeconds.slice(-5);
  return (recent.reduce((sum, seconds) => sum + seconds, 0) / recent.length) * steps;
}

/** Seconds since now, without those in which the run is paused. */
function workingClock(job: GrpoJob): () => number {
  const [began, paused] = [performance.now(), job.paused_s()];
  return () => (performance.now() - began) / 1000 - (job.paused_s() - paused);
}
