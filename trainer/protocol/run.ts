import { z } from 'zod';

export const RunKind = z.enum(['dev', 'train', 'eval', 'optimize']);
export type RunKind = z.infer<typeof RunKind>;

/** `interrupted`: the trainer died under it; training runs and searches can be resumed. */
export const RunStatus = z.enum(['pending', 'running', 'succeeded', 'failed', 'cancelled', 'interrupted']);
export type RunStatus = z.infer<typeof RunStatus>;

/** What a run is doing right now, for progress displays. */
export const RunPhase = z.enum(['starting', 'self-check', 'evaluating-before', 'training', 'evaluating-after', 'rollouts', 'searching', 'reporting', 'done']);
export type RunPhase = z.infer<typeof RunPhase>;

export const Run = z.object({
  run_id: z.string(),
  kind: RunKind,
  status: RunStatus,
  phase: RunPhase,
  /** path[:name] of the agent, relative to the workspace. */
  agent: z.string(),
  /** The complete request (config with defaults filled in), for exact re-runs. */
  config: z.unknown(),
  create_time: z.number(),
  end_time: z.number().nullable(),
  /** Why it failed or was interrupted. */
  error: z.string().nullable(),
  /** The kind of that error, where it has one. */
  error_code: z.string().nullish(),
  /** The object the CLI prints with --json, once there is one. */
  result: z.unknown().nullable(),
  /** `pausing`: no new rollout begins, what is under way finishes first; `paused`: nothing moves. Otherwise null or absent. */
  pause: z.enum(['pausing', 'paused']).nullish(),
  /** Rollouts at a time, as set last; absent before the agent's processes start. */
  runners: z.number().int().nullish(),
});
export type Run = z.infer<typeof Run>;

/** A complete checkpoint: the state after `step` (0-based). */
export const Checkpoint = z.object({
  step: z.number().int(),
  folder: z.string(),
  /** Mean reward on the validation tasks; null where the step was not validated. */
  val_reward: z.number().nullable().default(null),
  /** Whether it validated best of all steps so far. */
  best: z.boolean().default(false),
});
export type Checkpoint = z.infer<typeof Checkpoint>;

export const funnelStages = ['rollouts', 'calls', 'with_token_ids', 'scored', 'trainable', 'used'] as const;

/** Where samples go. `rollouts` counts rollouts, the other stages LLM calls. Every loss names its reason and the rollouts. */
export const Funnel = z.object({
  rollouts: z.number().int(),
  calls: z.number().int(),
  with_token_ids: z.number().int(),
  scored: z.number().int(),
  trainable: z.number().int(),
  used: z.number().int(),
  losses: z.array(z.object({
    stage: z.enum(funnelStages), // the stage they did not reach
    reason: z.string(), // e.g. 'timeout', 'group without variance', 'agent_match'
    count: z.number().int(),
    rollout_ids: z.array(z.string()),
  })),
});
export type Funnel = z.infer<typeof Funnel>;

/** One training step. Rates per second, lengths in tokens, wall times in seconds. */
export const StepMetrics = z.object({
  step: z.number().int(), // 0-based
  policy_version: z.number().int(), // after the update
  reward_mean: z.number().nullable(), // over scored rollouts; null when there was none
  reward_std: z.number().nullable(),
  val_reward: z.number().nullable(), // only at steps that validate
  groups: z.number().int(),
  groups_without_variance: z.number().int(),
  updated: z.boolean(), // false: nothing to learn from in this step
  loss: z.number().nullable(),
  reward_accuracy: z.number().nullish(), // DPO: share of the pairs whose better answer the policy prefers, compared with the reference
  reward_margin: z.number().nullish(), // DPO: mean difference of the implicit rewards
  kl: z.number().nullable(), // to the reference; null without one
  entropy: z.number().nullable(), // nats per trained token
  clip_fraction: z.number().nullable(),
  grad_norm: z.number().nullable(),
  lr: z.number(),
  /** mean |exp(logp_trainer - logp_sampler) - 1| on the first micro-step: sampler and trainer must agree. */
  ratio_deviation: z.number().nullable(),
  /** max |logp_trainer - logp_sampler|, nats. */
  logprob_max_diff: z.number().nullable(),
  response_tokens_mean: z.number().nullable(), // per trained call
  trained_tokens: z.number().int(),
  /** Policy updates between the sampling of a call and the update it is used in, mean over the calls; null when no call tells its version. */
  staleness: z.number().nullable().default(null),
  rollouts_per_s: z.number(),
  tokens_per_s: z.number(), // generated
  rollout_s: z.number(),
  train_s: z.number(),
  eta_s: z.number().nullable(),
  funnel: Funnel,
});
export type StepMetrics = z.infer<typeof StepMetrics>;

export const RolloutSummary = z.object({
  rollout_id: z.string(),
  status: z.string(), // the outcome, e.g. 'scored'
  reward: z.number().nullable(),
  spans: z.number().int(),
  error: z.string().nullable(),
});
export type RolloutSummary = z.infer<typeof RolloutSummary>;

export const DevResult = z.object({
  run_id: z.string(),
  rollouts: z.array(RolloutSummary),
  mean_reward: z.number().nullable(), // over scored rollouts
});
export type DevResult = z.infer<typeof DevResult>;

/** Paired over tasks: after - before. */
export const Difference = z.object({
  mean: z.number(),
  ci95: z.tuple([z.number(), z.number()]),
  p_value: z.number(),
});
export type Difference = z.infer<typeof Difference>;

export const Score = z.object({ mean_reward: z.number().nullable(), n: z.number().int() });
export type Score = z.infer<typeof Score>;

export const TrainResult = z.object({
  run_id: z.string(),
  steps: z.number().int(),
  before: Score,
  after: Score,
  difference: Difference.nullable(), // null when fewer than two tasks were scored on both sides
  checkpoint: z.string(), // folder in Hugging Face layout
  checkpoint_step: z.number().int().nullish(), // the step (0-based) after which it was the policy; absent in results of older versions
  wall_s: z.number(),
});
export type TrainResult = z.infer<typeof TrainResult>;

export const EvalResult = z.object({
  run_id: z.string(),
  policy: Score,
  against: Score.nullable(),
  difference: Difference.nullable(),
  rollouts: z.array(RolloutSummary),
});
export type EvalResult = z.infer<typeof EvalResult>;
