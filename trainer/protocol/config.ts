import { z } from 'zod';
import { longestTimeout, SamplingOverrides } from './rollout.ts';

/** Where the model behind the agent is served from. */
export const ModelConfig = z.strictObject({
  path: z.string().optional().describe('The local policy: a folder in Hugging Face layout (config.json, model.safetensors, tokenizer.json) or a GGUF file, relative to the config file; or hf:owner/name, a model of the Hugging Face hub (hf:owner/name/file.gguf, a file of it).'),
  endpoint: z.url({ protocol: /^https?$/, error: 'must be the http or https URL of a server' }).optional().describe('Or the base URL of an OpenAI-compatible server (ends in /v1); enough for dry runs and evaluation, not for training.'),
  name: z.string().optional().describe('Model name at the endpoint.'),
  api_key_env: z.string().optional().describe("Name of the environment variable that holds the endpoint's key."),
}).refine((model) => (model.path === undefined) !== (model.endpoint === undefined), { message: 'give either "path" (local policy) or "endpoint" (a server), not both' });
export type ModelConfig = z.infer<typeof ModelConfig>;

export const DataConfig = z.strictObject({
  train: z.string().describe('The file of training tasks: JSONL, JSON, CSV or parquet.'),
  validation: z.string().optional().describe('Tasks for the before/after comparison, never trained on. Without it, `validation_share` of the train file is split off.'),
  validation_share: z.number().gt(0).lt(1).default(0.2).describe('The share of the tasks that is split off for the comparison when there is no validation file.'),
  limit: z.number().int().min(1).optional().describe('Use only the first n tasks of each side.'),
});

/** GRPO settings; names as in verl and TRL. */
export const GrpoConfig = z.strictObject({
  steps: z.number().int().min(1).default(30).describe('Training steps (one policy update each).'),
  train_batch_size: z.number().int().min(1).default(16).describe('Tasks per step.'),
  group_size: z.number().int().min(2).default(8).describe('Rollouts per task (the group, G).'),
  lr: z.number().positive().default(1e-6).describe('Learning rate of AdamW. A few million parameters learn at 1e-4 to 1e-3, larger models at 1e-6 to 1e-5.'),
  lr_schedule: z.enum(['constant', 'linear', 'cosine']).default('constant').describe('How the learning rate goes on after the warm-up.'),
  warmup_steps: z.number().int().min(0).default(0).describe('Steps over which the learning rate rises from 0.'),
  betas: z.tuple([z.number().min(0).lt(1), z.number().min(0).lt(1)]).default([0.9, 0.95]).describe('Decay of the first and second moments of AdamW.'),
  weight_decay: z.number().min(0).default(0).describe('Weight decay of AdamW.'),
  max_grad_norm: z.number().positive().default(1).describe('Longer gradients are scaled down to this norm.'),
  clip_ratio_low: z.number().positive().default(0.2).describe('How far an update may lower a token probability, as a share.'),
  clip_ratio_high: z.number().positive().default(0.28).describe('How far it may raise one.'),
  ppo_epochs: z.number().int().min(1).default(1).describe('Policy updates over the same rollouts.'),
  kl_loss_coef: z.number().min(0).default(0).describe('Weight of the KL term; 0 = none, and no reference model in memory.'),
  kl_loss_type: z.enum(['k1', 'k2', 'k3']).default('k3').describe('Estimator of the KL divergence from the untrained model.'),
  scale_rewards: z.enum(['group', 'none']).default('group').describe("Advantage: (R - mean) / (std + eps) with 'group', R - mean with 'none'."),
  loss_agg_mode: z.enum(['token-mean', 'rollout-mean']).default('token-mean').describe('Token-level: every trained token of the step weighs the same. rollout: every rollout weighs the same.'),
  agent_match: z.string().optional().describe('Regular expression on the name of the agent (nearest enclosing operation) that made an LLM call; others are not trained.'),
  trace_aggregation: z.enum(['transition', 'trajectory']).default('trajectory').describe('Rows merged along exact token prefixes, or one row per call.'),
  failed_rollouts: z.enum(['drop', 'zero']).default('drop').describe('What a rollout that ended in agent_error, timeout or context_overflow means: dropped from its group, or a reward of 0. infra_error, unscored and cancelled are always dropped.'),
  micro_batch_tokens: z.number().int().min(64).default(2048).describe('Tokens per forward/backward (rows are packed into micro-batches up to this).'),
  test_freq: z.number().int().min(0).default(0).describe('Validate every n steps (0 = only before and after).'),
});
export type GrpoConfig = z.infer<typeof GrpoConfig>;

export const RunnerConfig = z.strictObject({
  n_runners: z.number().int().min(1).max(256).default(8).describe('Agent processes at a time.'),
  timeout_seconds: z.number().positive().max(longestTimeout).default(120).describe('An attempt that takes longer is stopped.'),
  max_attempts: z.number().int().min(1).default(1).describe('Attempts per rollout.'),
  python: z.string().optional().describe("Interpreter for Python agents; default: the workspace's virtual environment, else python3 on PATH."),
  node: z.string().optional().describe('Node for TypeScript and JavaScript agents; default: node on PATH.'),
  env: z.record(z.string(), z.string()).default({}).describe('Environment variables of the agent processes.'),
});
export type RunnerConfig = z.infer<typeof RunnerConfig>;

const temperature = z.number().min(0).describe('0 = the most likely token.');
const max_tokens = SamplingOverrides.shape.max_tokens.describe('Longest answer in tokens; default: what the agent asks for.');
/** With its own defaults for what a configuration does not name: the agent's parameters must not decide what is learned from. */
const TrainSampling = z.strictObject({
  temperature: temperature.default(1),
  top_p: z.number().gt(0).max(1).default(1).describe('1 = off.'),
  top_k: z.number().int().min(0).default(0).describe('0 = off.'),
  max_tokens,
});
const EvalSampling = z.strictObject({
  temperature: temperature.default(0),
  top_p: SamplingOverrides.shape.top_p.describe('1 = off; default: what the agent asks for.'),
  top_k: SamplingOverrides.shape.top_k.describe('0 = off; default: what the agent asks for.'),
  max_tokens,
});

/** agent-trainer.json. Paths are relative to the file. */
export const TrainConfig = z.strictObject({
  $schema: z.string().optional().describe('URL of the schema an editor checks this file with.'),
  agent: z.string().describe('path[:name] of the agent.'),
  data: DataConfig,
  model: ModelConfig,
  algorithm: z.literal('grpo').default('grpo').describe('Group relative policy optimisation.'),
  grpo: GrpoConfig.prefault({}),
  sampling: TrainSampling.prefault({}).describe('How the policy samples while training; defaults keep sampler and trainer on the same distribution.'),
  eval_sampling: EvalSampling.prefault({}).describe('How it samples in validation; greedy by default.'),
  runner: RunnerConfig.prefault({}),
  seed: z.number().int().default(0).describe('The same seed gives the same run.'),
  threads: z.number().int().min(1).max(256).optional().describe("Threads of the engine; default: the machine's physical cores."),
  checkpoints: z.strictObject({ keep_last: z.number().int().min(1).default(2).describe('How many checkpoints are kept.'), every: z.number().int().min(1).default(1).describe('A checkpoint after every n steps.') }).prefault({}),
});
export type TrainConfig = z.infer<typeof TrainConfig>;
