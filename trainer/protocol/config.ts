import { z } from 'zod';
import { DpoConfig, SftConfig } from './example-config.ts';
import { GrpoConfig } from './grpo-config.ts';
import { loraSettings } from './lora-config.ts';
import { Provider } from './providers.ts';
import { longestTimeout, samplingDtypes, SamplingOverrides } from './rollout.ts';

/** Where the model behind the agent is served from. */
export const ModelConfig = z.strictObject({
  path: z.string().optional().describe('The local policy: a folder in Hugging Face layout (config.json, model.safetensors, tokenizer.json) or a GGUF file, relative to the config file; or hf:owner/name, a model of the Hugging Face hub (hf:owner/name/file.gguf, a file of it).'),
  endpoint: z.url({ protocol: /^https?$/, error: 'must be the http or https URL of a server' }).optional().describe('Or the base URL of an OpenAI-compatible server (ends in /v1); enough for dry runs and evaluation, not for training.'),
  name: z.string().optional().describe('Model name at the endpoint.'),
  api_key_env: z.string().optional().describe("Name of the environment variable that holds the endpoint's key."),
  ...loraSettings,
}).refine((model) => (model.path === undefined && model.lora_adapter_path === undefined) !== (model.endpoint === undefined), { message: 'give either "path" (local policy; "lora_adapter_path" may stand for it) or "endpoint" (a server), not both' });
export type ModelConfig = z.infer<typeof ModelConfig>;

export const DataConfig = z.strictObject({
  train: z.string().describe('The file of training tasks: JSONL, JSON, CSV or parquet.'),
  validation: z.string().optional().describe('Tasks for the before/after comparison, never trained on. Without it, `validation_share` of the train file is split off.'),
  validation_share: z.number().gt(0).lt(1).default(0.2).describe('The share of the tasks that is split off for the comparison when there is no validation file.'),
  limit: z.number().int().min(1).optional().describe('Use only the first n tasks of each side.'),
});

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
  dtype: z.enum(samplingDtypes).default('float32').describe('int8: rollouts are sampled from a copy of the model with weights and activations rounded to 8 bits in blocks of 32 values (rollout.dtype of verl), which takes a quarter of the memory and is faster where few answers are sampled at a time. The sampler is then not quite the policy: needs grpo.rollout_is "token" or "sequence". On the CPU.'),
});
const EvalSampling = z.strictObject({
  temperature: temperature.default(0),
  top_p: SamplingOverrides.shape.top_p.describe('1 = off; default: what the agent asks for.'),
  top_k: SamplingOverrides.shape.top_k.describe('0 = off; default: what the agent asks for.'),
  max_tokens,
  dtype: z.enum(samplingDtypes).default('float32').describe('int8: the rounded copy of the model is validated, as rollouts are sampled with sampling.dtype.'),
});

/** agent-trainer.json. Paths are relative to the file. */
export const TrainConfig = z.strictObject({
  $schema: z.string().optional().describe('URL of the schema an editor checks this file with.'),
  agent: z.string().describe('path[:name] of the agent.'),
  data: DataConfig,
  model: ModelConfig,
  algorithm: z.enum(['grpo', 'sft', 'dpo']).default('grpo').describe('grpo: reinforcement learning from the rewards of rollouts (GRPO, Dr. GRPO, DAPO, RLOO, REINFORCE++, GSPO: see grpo). sft: learning from conversations. dpo: learning from pairs of answers of which one is better.'),
  grpo: GrpoConfig.prefault({}),
  sft: SftConfig.optional(),
  dpo: DpoConfig.optional(),
  sampling: TrainSampling.prefault({}).describe('How the policy samples while training; defaults keep sampler and trainer on the same distribution.'),
  eval_sampling: EvalSampling.prefault({}).describe('How it samples in validation; greedy by default.'),
  runner: RunnerConfig.prefault({}),
  seed: z.number().int().default(0).describe('The same seed gives the same run.'),
  threads: z.number().int().min(1).max(256).optional().describe("Threads of the engine; default: the machine's physical cores."),
  provider: Provider.optional().describe('What the engine runs on; default: the fastest that computes right on this machine, measured once. agent-trainer hardware lists them.'),
  checkpoints: z.strictObject({
    keep_last: z.number().int().min(1).default(2).describe('How many checkpoints are kept, besides that of the step that validated best (max_actor_ckpt_to_keep of verl, save_total_limit of TRL).'),
    every: z.number().int().min(1).default(1).describe('A checkpoint after every n steps.'),
    load_best_model_at_end: z.boolean().default(false).describe('The trained model is that of the step with the best reward on the validation tasks, and not of the last step. Needs test_freq above 0.'),
  }).prefault({}),
});
export type TrainConfig = z.infer<typeof TrainConfig>;

/** The steps that the configuration of a run asks for; null when it is not a training run's. */
export function stepsOf(config: unknown): number | null {
  const steps = z.looseObject({ steps: z.number() });
  const found = z.looseObject({ algorithm: z.enum(['grpo', 'sft', 'dpo']).default('grpo'), grpo: steps.optional(), sft: steps.optional(), dpo: steps.optional() }).safeParse(config);
  return found.success ? found.data[found.data.algorithm]?.steps ?? null : null;
}
