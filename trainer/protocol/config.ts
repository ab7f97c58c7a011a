import { z } from 'zod';
import { longestTimeout, SamplingOverrides } from './rollout.ts';

/** Where the model behind the agent is served from. */
export const ModelConfig = z.strictObject({
  /** A folder in Hugging Face layout (config.json, model.safetensors, tokenizer.json), relative to the config file: the local policy. */
  path: z.string().optional(),
  /** Or the base URL of an OpenAI-compatible server (ends in /v1); enough for dry runs and evaluation, not for training. */
  endpoint: z.url({ protocol: /^https?$/, error: 'must be the http or https URL of a server' }).optional(),
  /** Model name at the endpoint. */
  name: z.string().optional(),
  /** Name of the environment variable that holds the endpoint's key. */
  api_key_env: z.string().optional(),
}).refine((model) => (model.path === undefined) !== (model.endpoint === undefined), { message: 'give either "path" (local policy) or "endpoint" (a server), not both' });
export type ModelConfig = z.infer<typeof ModelConfig>;

export const DataConfig = z.strictObject({
  train: z.string(),
  /** Tasks for the before/after comparison, never trained on. Without it, `validation_share` of the train file is split off. */
  validation: z.string().optional(),
  validation_share: z.number().gt(0).lt(1).default(0.2),
  /** Use only the first n tasks of each side. */
  limit: z.number().int().min(1).optional(),
});

/** GRPO settings; names as in verl and TRL. */
export const GrpoConfig = z.strictObject({
  /** Training steps (one policy update each). */
  steps: z.number().int().min(1).default(30),
  /** Tasks per step. */
  train_batch_size: z.number().int().min(1).default(16),
  /** Rollouts per task (the group, G). */
  group_size: z.number().int().min(2).default(8),
  lr: z.number().positive().default(1e-6),
  lr_schedule: z.enum(['constant', 'linear', 'cosine']).default('constant'),
  warmup_steps: z.number().int().min(0).default(0),
  betas: z.tuple([z.number().min(0).lt(1), z.number().min(0).lt(1)]).default([0.9, 0.95]),
  weight_decay: z.number().min(0).default(0),
  max_grad_norm: z.number().positive().default(1),
  clip_ratio_low: z.number().positive().default(0.2),
  clip_ratio_high: z.number().positive().default(0.28),
  /** Policy updates over the same rollouts. */
  ppo_epochs: z.number().int().min(1).default(1),
  /** 0 = no KL term and no reference model in memory. */
  kl_loss_coef: z.number().min(0).default(0),
  kl_loss_type: z.enum(['k1', 'k2', 'k3']).default('k3'),
  /** Advantage: (R - mean) / (std + eps) with 'group', R - mean with 'none'. */
  scale_rewards: z.enum(['group', 'none']).default('group'),
  /** Token-level: every trained token of the step weighs the same. rollout: every rollout weighs the same. */
  loss_agg_mode: z.enum(['token-mean', 'rollout-mean']).default('token-mean'),
  /** Regular expression on the name of the agent (nearest enclosing operation) that made an LLM call; others are not trained. */
  agent_match: z.string().optional(),
  /** Rows merged along exact token prefixes, or one row per call. */
  trace_aggregation: z.enum(['transition', 'trajectory']).default('trajectory'),
  /** What a rollout that ended in agent_error, timeout or context_overflow means: dropped from its group, or a reward of 0. infra_error, unscored and cancelled are always dropped. */
  failed_rollouts: z.enum(['drop', 'zero']).default('drop'),
  /** Tokens per forward/backward (rows are packed into micro-batches up to this). */
  micro_batch_tokens: z.number().int().min(64).default(2048),
  /** Validate every n steps (0 = only before and after). */
  test_freq: z.number().int().min(0).default(0),
});
export type GrpoConfig = z.infer<typeof GrpoConfig>;

export const RunnerConfig = z.strictObject({
  n_runners: z.number().int().min(1).max(256).default(8),
  timeout_seconds: z.number().positive().max(longestTimeout).default(120),
  max_attempts: z.number().int().min(1).default(1),
  /** Interpreter for Python agents; default: the workspace's virtual environment, else python3 on PATH. */
  python: z.string().optional(),
  /** Node for TypeScript and JavaScript agents; default: node on PATH. */
  node: z.string().optional(),
  env: z.record(z.string(), z.string()).default({}),
});
export type RunnerConfig = z.infer<typeof RunnerConfig>;

/** agent-trainer.json. Paths are relative to the file. */
export const TrainConfig = z.strictObject({
  $schema: z.string().optional(),
  /** path[:name] of the agent. */
  agent: z.string(),
  data: DataConfig,
  model: ModelConfig,
  algorithm: z.literal('grpo').default('grpo'),
  grpo: GrpoConfig.prefault({}),
  /** How the policy samples while training; defaults keep sampler and trainer on the same distribution. */
  sampling: SamplingOverrides.default({ temperature: 1, top_p: 1, top_k: 0 }),
  /** How it samples in validation: greedy. */
  eval_sampling: SamplingOverrides.default({ temperature: 0 }),
  runner: RunnerConfig.prefault({}),
  seed: z.number().int().default(0),
  /** Threads of the engine; default: the machine's physical cores. */
  threads: z.number().int().min(1).max(256).optional(),
  checkpoints: z.strictObject({ keep_last: z.number().int().min(1).default(2), every: z.number().int().min(1).default(1) }).prefault({}),
});
export type TrainConfig = z.infer<typeof TrainConfig>;
