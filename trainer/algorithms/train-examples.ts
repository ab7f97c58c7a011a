/**
 * Training on examples instead of rollouts: supervised fine-tuning on conversations, or direct preference optimisation on
 * pairs of answers. Each epoch is a seeded shuffle; a step takes the next `train_batch_size` of it.
 * Run it with: agent-trainer train agent-trainer.json, "algorithm": "sft" or "dpo"
 */
import type { DpoConfig, SftConfig } from '../protocol/example-config.ts';
import type { PreferencePair, ScoredRow } from '../protocol/policy.ts';
import type { StepMetrics } from '../protocol/run.ts';
import { tasksOfStep } from './batches.ts';
import { FunnelCounter } from './funnel.ts';
import { noticeMemory } from './memory-notice.ts';
import { throwIfCancelled } from './rollouts.ts';
import { learningRate } from './schedule.ts';
import { keep, secondsLeft, validationReward, workingClock, type TrainingJob } from './training-job.ts';

/** What is learned from: the rows of each conversation, or pairs. Not empty. */
export type ExampleSet =
  | { algorithm: 'sft'; settings: SftConfig; examples: ScoredRow[][] }
  | { algorithm: 'dpo'; settings: DpoConfig; examples: PreferencePair[] };

type Learned = Pick<StepMetrics, 'loss' | 'entropy' | 'grad_norm' | 'reward_accuracy' | 'reward_margin' | 'trained_tokens'> & { out_of_memory: number; micro_batch_tokens: number };

/** Trains for `settings.steps` steps. Throws TrainerError 'cancelled' or 'numeric'; the last checkpoint stays. */
export async function trainOnExamples(job: TrainingJob, set: ExampleSet): Promise<void> {
  const { source, policy, config } = job;
  const { settings, examples } = set;
  const stepSeconds: number[] = [];
  let outOfMemory = 0;
  for (let step = job.firstStep; step < settings.steps; step++) {
    throwIfCancelled(source.signal);
    const clock = workingClock(job);
    const lr = learningRate(step, settings);
    const { out_of_memory, micro_batch_tokens, ...learned } = await learn(job, set, tasksOfStep(step, examples.length, settings.train_batch_size, config.seed), lr);
    outOfMemory = noticeMemory(job, step, outOfMemory, { out_of_memory, micro_batch_tokens });
    const train_s = clock();
    const val_reward = await validationReward(job, step, settings);
    stepSeconds.push(clock());
    source.store.addStep(source.run_id, {
      ...learned, step, lr, val_reward, train_s, policy_version: policy.version, updated: true,
      eta_s: secondsLeft(stepSeconds, settings.steps - step - 1) + job.evaluation_s,
      ...withoutRollouts,
    });
    await keep(job, step, settings);
  }
}

async function learn({ policy }: TrainingJob, set: ExampleSet, positions: number[], lr: number): Promise<Learned> {
  if (set.algorithm === 'sft') {
    return policy.sft(positions.flatMap((position) => set.examples[position]!), { ...set.settings, lr });
  }
  const { accuracy, margin, ...metrics } = await policy.dpo(positions.map((position) => set.examples[position]!), { ...set.settings, lr });
  return { ...metrics, entropy: null, reward_accuracy: accuracy, reward_margin: margin };
}

const withoutRollouts = {
  reward_mean: null, reward_std: null, groups: 0, groups_without_variance: 0, kl: null, clip_fraction: null, ratio_deviation: null, logprob_max_diff: null,
  response_tokens_mean: null, staleness: null, rollouts_per_s: 0, tokens_per_s: 0, rollout_s: 0, funnel: new FunnelCounter().result(),
} satisfies Partial<StepMetrics>;
