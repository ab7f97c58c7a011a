import { z } from 'zod';
import { Replay } from './replay.ts';

/** How an attempt ended. Only `scored` trains; nothing turns into a reward of 0 by itself. */
export const outcomes = ['scored', 'unscored', 'agent_error', 'infra_error', 'timeout', 'cancelled', 'context_overflow'] as const;
export const Outcome = z.enum(outcomes);
export type Outcome = z.infer<typeof Outcome>;

export const rolloutStatuses = ['queuing', 'preparing', 'running', 'succeeded', 'failed', 'cancelled', 'requeuing'] as const;
export const RolloutStatus = z.enum(rolloutStatuses);
export type RolloutStatus = z.infer<typeof RolloutStatus>;

export const attemptStatuses = ['preparing', 'running', 'succeeded', 'failed', 'unresponsive', 'timeout'] as const;
export const AttemptStatus = z.enum(attemptStatuses);
export type AttemptStatus = z.infer<typeof AttemptStatus>;

export const RolloutMode = z.enum(['train', 'val', 'test']);
export type RolloutMode = z.infer<typeof RolloutMode>;

/** What the weights and activations are that a local policy samples with. */
export const samplingDtypes = ['float32', 'int8'] as const;
export type SamplingDtype = (typeof samplingDtypes)[number];

/** Sampling parameters that override what the agent asks for. Absent = the agent's own, else the server's default. */
export const SamplingOverrides = z.object({
  temperature: z.number().min(0).optional(),
  top_p: z.number().gt(0).max(1).optional(),
  /** 0 = off */
  top_k: z.number().int().min(0).optional(),
  max_tokens: z.number().int().min(1).optional(),
  /** Of the local policy; other models take no notice. */
  dtype: z.enum(samplingDtypes).optional(),
});
export type SamplingOverrides = z.infer<typeof SamplingOverrides>;

/** Seconds; timers of JavaScript take no more than 2³¹ ms and go off at once beyond. */
export const longestTimeout = 2_147_483;

/** Retry and time limits (names of Agent Lightning v0.3), and how the gateway serves the rollout's LLM calls. */
export const RolloutConfig = z.object({
  timeout_seconds: z.number().positive().max(longestTimeout).nullable().default(null),
  unresponsive_seconds: z.number().positive().nullable().default(null),
  max_attempts: z.number().int().min(1).default(1),
  retry_condition: z.array(AttemptStatus).default([]),
  /** Name of the chat backend that answers; null = the gateway's default. */
  backend: z.string().nullable().default(null),
  sampling: SamplingOverrides.default({}),
  /** Seed of the rollout; each LLM call derives its own from it and its ordinal in the attempt. */
  seed: z.number().int().nullable().default(null),
  /** Continue another attempt instead of asking the model from the start. */
  replay: Replay.optional(),
});
export type RolloutConfig = z.infer<typeof RolloutConfig>;

export const Attempt = z.object({
  rollout_id: z.string(),
  attempt_id: z.string(),
  /** 1 for the first attempt. */
  sequence_id: z.number().int().min(1),
  start_time: z.number(), // seconds since the epoch
  end_time: z.number().nullable(),
  status: AttemptStatus,
  worker_id: z.string().nullable(),
  last_heartbeat_time: z.number().nullable(),
  metadata: z.record(z.string(), z.unknown()).nullable(),
  /** null while it runs. */
  outcome: Outcome.nullable(),
  /** The final reward; a number exactly when outcome is `scored`. */
  reward: z.number().nullable(),
  /** One sentence: why the outcome is not `scored`. */
  error: z.string().nullable(),
});
export type Attempt = z.infer<typeof Attempt>;

export const Rollout = z.object({
  rollout_id: z.string(),
  run_id: z.string().nullable(),
  input: z.unknown(), // the task
  /** Stable id of the task in its dataset; rollouts of one task in one step form a group. */
  task_id: z.string().nullable(),
  /** Training step (0-based) the rollout was made for; null outside training. */
  step: z.number().int().nullable(),
  mode: RolloutMode.nullable(),
  resources_id: z.string().nullable(),
  status: RolloutStatus,
  start_time: z.number(),
  end_time: z.number().nullable(),
  config: RolloutConfig,
  metadata: z.record(z.string(), z.unknown()).nullable(),
});
export type Rollout = z.infer<typeof Rollout>;

/** A rollout with its latest attempt (null while it waits for its first). */
export const AttemptedRollout = Rollout.extend({ attempt: Attempt.nullable() });
export type AttemptedRollout = z.infer<typeof AttemptedRollout>;

export const WorkerInfo = z.object({
  worker_id: z.string(),
  status: z.enum(['idle', 'busy', 'unknown']),
  last_heartbeat_time: z.number().nullable(),
  last_dequeue_time: z.number().nullable(),
  last_busy_time: z.number().nullable(),
  last_idle_time: z.number().nullable(),
  current_rollout_id: z.string().nullable(),
  current_attempt_id: z.string().nullable(),
  heartbeat_stats: z.record(z.string(), z.unknown()).nullable(),
});
export type WorkerInfo = z.infer<typeof WorkerInfo>;

export const LLMResource = z.object({
  resource_type: z.literal('llm'),
  endpoint: z.string(),
  model: z.string(),
  api_key: z.string().nullable().default(null),
  sampling_parameters: z.record(z.string(), z.unknown()).default({}),
});
export type LLMResource = z.infer<typeof LLMResource>;

export const PromptTemplateResource = z.object({
  resource_type: z.literal('prompt_template'),
  template: z.string(),
  engine: z.enum(['f-string', 'jinja']),
});

/** Files of the workspace as the agent is to find them: a candidate's prompts written into copies of its sources. */
export const SourceOverlayResource = z.object({
  resource_type: z.literal('source_overlay'),
  files: z.array(z.object({ path: z.string(), text: z.string() })), // absolute paths
});
export type SourceOverlayResource = z.infer<typeof SourceOverlayResource>;

export const Resource = z.discriminatedUnion('resource_type', [LLMResource, PromptTemplateResource, SourceOverlayResource]);
export type Resource = z.infer<typeof Resource>;

/** A versioned bundle of resources, by the parameter name they are injected under. */
export const ResourceBundle = z.object({
  resources_id: z.string(),
  version: z.number().int(),
  create_time: z.number(),
  update_time: z.number(),
  resources: z.record(z.string(), Resource),
});
export type ResourceBundle = z.infer<typeof ResourceBundle>;
