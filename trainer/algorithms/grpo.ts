/**
 * Group relative policy optimisation, on-policy: every step samples `group_size` rollouts of each of `train_batch_size`
 * tasks with the present policy, compares each with its group, and makes one update on all of them.
 * As in DAPO: clip-higher, loss per token over the whole step, no KL unless asked for. Left out: dynamic sampling (groups
 * without variance are skipped, not replaced), asynchronous rollouts, a value function.
 * Run it with: agent-trainer train agent-trainer.json
 */
import type { Task } from '../datasets/tasks.ts';
import { scoreOf } from '../evaluation/compare.ts';
import type { TrainConfig } from '../protocol/config.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { Policy } from '../protocol/policy.ts';
import { tasksOfStep } from './batches.ts';
import type { Checkpoints } from './checkpoints.ts';
import { evaluate } from './evaluate.ts';
import { whyNothing } from './funnel.ts';
import { requireWorking, rollOut, throwIfCancelled, type RolloutPlan, type RolloutSource } from './rollouts.ts';
import { learningRate } from './schedule.ts';
import { deriveSeed } from './seeds.ts';
import { generatedTokens, staleness, stepMetrics } from './step-metrics.ts';
import { trainingBatch } from './training-batch.ts';

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
  const { grpo, seed } = config;
  const stepSeconds: number[] = [];
  let lastReason: string | null = null; // said once, not at every step that it holds for

  for (let step = job.firstStep; step < grpo.steps; step++) {
    const clock = workingClock(job);

    // 1. Sample: the group of each task, with seeds that depend on nothing but the run's seed and the rollout's place.
    const tasks = tasksOfStep(step, train.length, grpo.train_batch_size, seed).map((position) => train[position]!);
    const rollouts = await rollOut(source, tasks.flatMap((task) => groupPlans(task, step, config)));
    requireWorking(rollouts);
    const traced = rollouts.map((rollout) => ({ rollout, spans: source.store.listSpans(rollout.rollout_id) }));
    const rollout_s = clock();

    // 2. Compare each rollout with its group.
    const groups = tasks.map((_, i) => traced.slice(i * grpo.group_size, (i + 1) * grpo.group_size));
    const batch = trainingBatch(groups, grpo);

    // 3. Learn.
    throwIfCancelled(source.signal);
    const learning = performance.now();
    const stale = staleness(traced, policy.version);
    const lr = learningRate(step, grpo);
    const update = batch.rows.length === 0 ? null : await policy.update(batch.rows, { ...grpo, lr });
    const train_s = (performance.now() - learning) / 1000;
    const reason = update ? null : whyNothing(batch.funnel);
    if (reason !== null && reason !== lastReason) job.notice('warning', `Step ${step + 1}: nothing to learn from, the policy stays as it is: ${reason}.${hint(reason)}`);
    lastReason = reason;
    if (update && update.ratio_deviation > maxRatioDeviation) disagreement(job, step, update.ratio_deviation);

    // 4. Validate, report, keep.
    const validates = grpo.test_freq > 0 && (step + 1) % grpo.test_freq === 0 && step + 1 < grpo.steps;
    const val_reward = validates ? await validationReward(job, step) : null;
    stepSeconds.push(clock());
    source.store.addStep(source.run_id, stepMetrics({
      step, lr, batch, update, val_reward, rollout_s, train_s, staleness: stale,
      policy_version: policy.version, rollouts: rollouts.length, generated_tokens: generatedTokens(traced),
      eta_s: secondsLeft(stepSeconds, grpo.steps - step - 1) + job.evaluation_s,
    }));
    if ((step + 1) % config.checkpoints.every === 0 || step + 1 === grpo.steps) await checkpoints.save(policy, step);
  }
}

function hint(reason: string): string {
  if (!reason.startsWith('group without variance')) return '';
  return ' All tries at a task earned the same reward. Learning needs tasks that the model gets right sometimes, but not always.';
}

function groupPlans(task: Task, step: number, { grpo, sampling, seed }: TrainConfig): RolloutPlan[] {
  return Array.from({ length: grpo.group_size }, (_, sample) => ({
    task, step, sampling, mode: 'train', seed: deriveSeed(seed, step, task.id, sample), metadata: { sample },
  }));
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
