import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { TrainConfig } from '../protocol/config.ts';
import { messageOf, TrainerError, whyUnreadable } from '../protocol/errors.ts';
import { JsonTextError, parseJsonText } from '../protocol/json-text.ts';
import { adapterSettings, loraRates, loraSettings } from '../protocol/lora-config.ts';
import { nearest } from './nearest.ts';

export const configFileName = 'agent-trainer.json';

/** A valid configuration and the folder its paths are relative to. */
export interface LoadedConfig { config: TrainConfig; folder: string }

/**
 * Reads an agent-trainer.json, merges `overrides` into it and fills in the defaults.
 * Throws TrainerError 'not_found' or 'bad_input'; the message names the file and every wrong field.
 */
export function loadConfig(file: string, overrides: Record<string, unknown> = {}): LoadedConfig {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new TrainerError('not_found', `The configuration ${file} cannot be read: ${whyUnreadable(error)}. Give the path of an ${configFileName}.`, { cause: error });
  }
  return { config: checkConfig(deepMerge(parseJson(text, file), overrides), file), folder: path.dirname(path.resolve(file)) };
}

/** Validates a configuration; `source` is the name errors use for where it came from. */
export function checkConfig(value: unknown, source: string): TrainConfig {
  const parsed = TrainConfig.safeParse(withLoraRates(value));
  if (!parsed.success) throw new TrainerError('bad_input', `${source}: ${parsed.error.issues.map(describeIssue).join('; ')}.`);
  const { sampling } = parsed.data;
  if (sampling.temperature === 0) throw new TrainerError('bad_input', `${source}: sampling.temperature is 0, and greedy rollouts of a task are all the same: training needs a temperature above 0, best 1.`);
  if ((sampling.top_p ?? 1) < 1 || (sampling.top_k ?? 0) > 0) throw new TrainerError('bad_input', `${source}: sampling.top_p and sampling.top_k must be off (1 and 0) in training, because the trainer learns on the whole distribution.`);
  for (const name of ['grpo', 'sft', 'dpo'] as const) checkExpression(`${name}.agent_match`, parsed.data[name]?.agent_match, source);
  checkLora(parsed.data.model, source);
  const { algorithm } = parsed.data;
  if (algorithm === 'grpo') checkGrpo(parsed.data, source);
  else if (!parsed.data[algorithm]) throw new TrainerError('bad_input', `${source}: "algorithm" is "${algorithm}", which learns from examples: give "${algorithm}": {"data": ...}.`);
  if (parsed.data.checkpoints.load_best_model_at_end && parsed.data[algorithm]?.test_freq === 0) throw new TrainerError('bad_input', `${source}: checkpoints.load_best_model_at_end looks for the best of the validated steps, but ${algorithm}.test_freq is 0: give the number of steps between validations.`);
  if (parsed.data.checkpoints.load_best_model_at_end && (parsed.data[algorithm]?.ema_decay ?? 0) > 0) throw new TrainerError('bad_input', `${source}: checkpoints.load_best_model_at_end takes the weights of one step, and ${algorithm}.ema_decay the average over the steps, which was not validated: leave one of them out.`);
  return parsed.data;
}

function checkLora(model: TrainConfig['model'], source: string): void {
  const defaults = z.object(loraSettings).parse({});
  const given = model.lora_adapter_path === undefined ? undefined : adapterSettings.find((name) => JSON.stringify(model[name]) !== JSON.stringify(defaults[name]));
  if (given !== undefined) throw new TrainerError('bad_input', `${source}: model.${given} is that of the adapter in model.lora_adapter_path: leave it out. To train new factors beside the model with the adapter in it, give the adapter's folder as model.path instead.`);
  if (model.base_dtype !== 'float32' && model.lora_rank === 0 && model.lora_adapter_path === undefined) throw new TrainerError('bad_input', `${source}: model.base_dtype "${model.base_dtype}" is for a model that stays as it is: give a model.lora_rank, or leave it out.`);
}

/** With LoRA a learning rate that is not given is another one. An algorithm that is none stays for the schema to refuse. */
function withLoraRates(value: unknown): unknown {
  if (!isObject(value) || !isObject(value['model']) || !(Number(value['model']['lora_rank']) > 0 || typeof value['model']['lora_adapter_path'] === 'string')) return value;
  const algorithm = z.enum(['grpo', 'sft', 'dpo']).default('grpo').safeParse(value['algorithm']).data;
  return algorithm === undefined ? value : deepMerge({ [algorithm]: { lr: loraRates[algorithm] } }, value);
}

/** Settings that need each other. */
function checkGrpo({ grpo, sampling: { max_tokens, dtype } }: TrainConfig, source: string): void {
  const refuse = (problem: string) => new TrainerError('bad_input', `${source}: ${problem}`);
  if (grpo.group_size < 2 && grpo.adv_estimator !== 'reinforce_plus_plus') throw refuse(`grpo.group_size is 1, and grpo.adv_estimator "${grpo.adv_estimator}" compares the rollouts of a group: give at least 2, or use "reinforce_plus_plus".`);
  if (grpo.group_size < 2 && grpo.filter_groups.enable) throw refuse('grpo.filter_groups needs groups of at least 2 rollouts, but grpo.group_size is 1.');
  if (grpo.loss_agg_mode === 'seq-mean-token-sum-norm' && (grpo.loss_scale_factor ?? max_tokens) === undefined) throw refuse('grpo.loss_agg_mode "seq-mean-token-sum-norm" divides by a constant: give grpo.loss_scale_factor, or sampling.max_tokens.');
  if (dtype === 'int8' && grpo.rollout_is === 'none') throw refuse('sampling.dtype "int8" samples from rounded weights, so the sampler is not the policy that learns, and grpo.rollout_is "none" would take it for that: give grpo.rollout_is "token" or "sequence", or sampling.dtype "float32".');
  const { len } = grpo.overlong_buffer;
  if (len > 0 && (max_tokens === undefined || len > max_tokens)) throw refuse(`grpo.overlong_buffer.len is ${len}, which needs a sampling.max_tokens of at least as many tokens: the penalty begins at the difference.`);
}

/** The agent-trainer.json in the folder of `file` or the nearest one above it; null when there is none. */
export function nearestConfig(file: string): string | null {
  for (let folder = path.dirname(path.resolve(file)); ; folder = path.dirname(folder)) {
    const candidate = path.join(folder, configFileName);
    if (existsSync(candidate)) return candidate;
    if (folder === path.dirname(folder)) return null;
  }
}

function parseJson(text: string, file: string): unknown {
  let value: unknown;
  try {
    value = parseJsonText(text);
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    throw new TrainerError('bad_input', `${file} is not valid JSON (line ${error.line}, column ${error.column}): ${error.message}.`, { cause: error });
  }
  if (!isObject(value)) throw new TrainerError('bad_input', `${file} must hold a JSON object with "agent", "data" and "model".`);
  return value;
}

function checkExpression(setting: string, expression: string | undefined, source: string): void {
  if (expression === undefined) return;
  try {
    new RegExp(expression);
  } catch (error) {
    throw new TrainerError('bad_input', `${source}: ${setting} is not a regular expression: ${messageOf(error)}.`, { cause: error });
  }
}

/** Objects merge key by key; anything else in `over` replaces what is in `base`. */
function deepMerge(base: unknown, over: unknown): unknown {
  if (!isObject(base) || !isObject(over)) return over === undefined ? base : over;
  return Object.fromEntries([...new Set([...Object.keys(base), ...Object.keys(over)])].map((key) => [key, deepMerge(base[key], over[key])]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const place = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const meant = nearest(key, knownKeys(place));
      return `"${[...place, key].join('.')}" is not a known setting${meant === null ? '' : ` (did you mean "${meant}"?)`}`;
    }).join('; ');
  }
  const field = place.length === 0 ? 'the file' : `"${place.join('.')}"`;
  if (issue.code === 'invalid_type' && issue.message.endsWith('received undefined')) return `${field} is missing`;
  return `${field}: ${issue.message.charAt(0).toLowerCase()}${issue.message.slice(1)}`;
}

interface JsonSchema { properties?: Record<string, JsonSchema> }

function knownKeys(place: readonly string[]): string[] {
  let schema: JsonSchema | undefined = z.toJSONSchema(TrainConfig, { io: 'input' }) as JsonSchema;
  for (const key of place) schema = schema?.properties?.[key];
  return Object.keys(schema?.properties ?? {});
}
