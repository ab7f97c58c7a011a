/**
 * Group relative policy optimisation and its relatives: every step samples `group_size` rollouts of each of
 * `train_batch_size` tasks, compares each with its group, and makes one policy update on all of them.
 * By default on-policy and as in DAPO: clip-higher, loss per token over the whole step, no KL. Dr. GRPO, RLOO, REINFORCE++ and GSPO
 * are settings of the advantage (estimate.ts) and of the loss (rows.ts, policy-loss.ts). Left out: a value function.
 * Run it with: agent-trainer train agent-trainer.json
 */
import type { Task } from '../datasets/tasks.ts';
import { TrainerError } from '../protocol/errors.ts';
import { Collections } from './collect.ts';
import { whyNothing } from './funnel.ts';
import { meanKl, referenceKl } from './reward-kl.ts';
import { noticeMemory } from './memory-notice.ts';
import { throwIfCancelled } from './rollouts.ts';
import { learningRate } from './schedule.ts';
import { generatedTokens, staleness, stepMetrics } from './step-metrics.ts';
import { batchConfig, trainingBatch } from './training-batch.ts';
import { keep, secondsLeft, validationReward, workingClock, type TrainingJob } from './training-job.ts';

export interface GrpoJob extends TrainingJob { train: Task[] }

/** Sampler and trainer must compute the same probabilities; above this mean |ratio - 1| a run learns from noise. */
const maxRatioDeviation = 1e-2;

/** Trains until `grpo.steps`. Throws TrainerError 'cancelled', 'numeric' or 'environment'; the last checkpoint stays. */
export async function trainGrpo(job: GrpoJob): Promise<void> {
  const { source, policy, train, config } = job;
  const { grpo } = config;
  const stepSeconds: number[] = [];
  let outOfMemory = 0;
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
      outOfMemory = noticeMemory(job, step, outOfMemory, update);
      const reason = update ? null : whyNothing(batch.funnel);
      if (reason !== null && reason !== lastReason) job.notice('warning', `Step ${step + 1}: nothing to learn from, the policy stays as it is: ${reason}.${hint(reason)}`);
      lastReason = reason;
      // A policy that has moved since the sampling disagrees by right, and so does one that was rounded for it.
      if (update && !stale && config.sampling.dtype === 'float32' && update.ratio_deviation > maxRatioDeviation) disagreement(job, step, update.ratio_deviation);

      // 4. Validate, report, keep.
      const val_reward = await validationReward(job, step, grpo);
      stepSeconds.push(clock());
      source.store.addStep(source.run_id, stepMetrics({
        step, lr, batch, update, val_reward, rollout_s, train_s, staleness: stale, kl: kl === null ? null : meanKl(kl.tokens),
        policy_version: policy.version, rollouts: traced.length, generated_tokens: generatedTokens(traced),
        eta_s: secondsLeft(stepSeconds, grpo.steps - step - 1) + job.evaluation_s,
      }));
      await keep(job, step, grpo);
    }
  } finally {
    await collections.close();
  }
}

function hint(reason: string): string {
  if (!reason.startsWith('group without variance')) return '';
  return ' All tries at a task earned the same reward. Learning needs tasks that the model gets right sometimes, but not always.';
}

/** Stops a run that begins with a disagreement; later, when weights have grown apart by rounding, it is worth a warning. */
function disagreement(job: GrpoJob, step: number, deviation: number): void {
  const message = `Step ${step + 1}: the trainer's probabilities differ from the sampler's by ${deviation.toExponential(1)} on average (at most ${maxRatioDeviation} is sound).`;
  if (step === job.firstStep) throw new TrainerError('numeric', `${message} Training on them would learn from noise; use the CPU provider and report this.`);
  job.notice('warning', message);
}
