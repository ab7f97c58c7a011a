import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import { JsonTextError, parseJsonText } from '../protocol/json-text.ts';
import { parseAs } from '../protocol/validate.ts';

/** Beyond any model there is; larger sizes are damage, and would be taken for memory. */
export const maxVocabulary = 2 ** 24;
const size = (most: number) => z.number().int().min(1).max(most);
const TokenId = z.number().int().min(0).max(maxVocabulary - 1);
const TokenIds = z.union([TokenId, z.array(TokenId)], { error: 'must be a token id or a list of them' }).nullish();

/** Hugging Face `config.json` of a Qwen2 model, as much as decides the computation. Other fields are kept for saving. */
const Qwen2Json = z.looseObject({
  model_type: z.literal('qwen2'),
  vocab_size: size(maxVocabulary),
  hidden_size: size(2 ** 18),
  intermediate_size: size(2 ** 20),
  num_hidden_layers: size(1024),
  num_attention_heads: size(4096),
  num_key_value_heads: size(4096).optional(),
  head_dim: size(4096).nullish(),
  max_position_embeddings: size(2 ** 24).default(32768),
  rms_norm_eps: z.number().positive().default(1e-6),
  rope_theta: z.number().positive().optional(),
  rope_parameters: z.looseObject({ rope_theta: z.number().positive().optional(), rope_type: z.string().optional() }).nullish(),
  rope_scaling: z.looseObject({}).nullish(),
  hidden_act: z.string().default('silu'),
  tie_word_embeddings: z.boolean().default(false),
  use_sliding_window: z.boolean().default(false),
  eos_token_id: TokenIds,
});

/** The shape of a Qwen2 decoder. Sizes in elements, `contextLength` in tokens. */
export interface Qwen2Config {
  vocab: number;
  hidden: number;
  intermediate: number;
  layers: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  contextLength: number;
  normEps: number;
  ropeTheta: number;
  tied: boolean;
  eosIds: number[];
}

/** Reads a `config.json` already parsed. Throws TrainerError `bad_input` naming `source` and what is not supported. */
export function parseConfig(json: unknown, source: string): Qwen2Config {
  const refuse = (problem: string) => new TrainerError('bad_input', `${source}: ${problem}`);
  const type = z.looseObject({ model_type: z.string() }).safeParse(json);
  if (!type.success) throw refuse('no "model_type" found. Point to the config.json of a Hugging Face model.');
  if (type.data.model_type !== 'qwen2') {
    throw refuse(`the model type "${type.data.model_type}" is not supported: there is no graph builder for it. Use a model of type "qwen2" (Qwen2, Qwen2.5).`);
  }
  const c = parseAs(Qwen2Json, json, source);
  if (c.hidden_act !== 'silu') throw refuse(`the activation "${c.hidden_act}" is not supported; Qwen2 uses "silu".`);
  if (c.use_sliding_window) throw refuse('sliding-window attention is not supported. Use a model with "use_sliding_window": false.');
  const ropeType = c.rope_parameters?.rope_type ?? 'default';
  if (c.rope_scaling || ropeType !== 'default') throw refuse('scaled rotary embeddings (rope_scaling) are not supported. Remove rope_scaling to use the trained context length.');
  const kvHeads = c.num_key_value_heads ?? c.num_attention_heads;
  const headDim = c.head_dim ?? c.hidden_size / c.num_attention_heads;
  if (c.num_attention_heads % kvHeads !== 0) throw refuse(`num_attention_heads (${c.num_attention_heads}) must be a multiple of num_key_value_heads (${kvHeads}).`);
  if (!Number.isInteger(headDim) || headDim % 2 !== 0) throw refuse(`the head size (${headDim}) must be an even whole number.`);
  return {
    vocab: c.vocab_size, hidden: c.hidden_size, intermediate: c.intermediate_size, layers: c.num_hidden_layers,
    heads: c.num_attention_heads, kvHeads, headDim, contextLength: c.max_position_embeddings, normEps: c.rms_norm_eps,
    ropeTheta: c.rope_theta ?? c.rope_parameters?.rope_theta ?? 10_000, tied: c.tie_word_embeddings,
    eosIds: idList(c.eos_token_id),
  };
}

/** The `config.json` that `parseConfig` reads back to the same configuration. */
export function configJson(config: Qwen2Config): Record<string, unknown> {
  return {
    architectures: ['Qwen2ForCausalLM'], model_type: 'qwen2', torch_dtype: 'float32', hidden_act: 'silu',
    vocab_size: config.vocab, hidden_size: config.hidden, intermediate_size: config.intermediate,
    num_hidden_layers: config.layers, num_attention_heads: config.heads, num_key_value_heads: config.kvHeads, head_dim: config.headDim,
    max_position_embeddings: config.contextLength, rms_norm_eps: config.normEps, rope_theta: config.ropeTheta,
    tie_word_embeddings: config.tied, use_sliding_window: false, attention_dropout: 0, initializer_range: 0.02,
    eos_token_id: config.eosIds.length === 1 ? config.eosIds[0] : config.eosIds,
  };
}

/**
 * Reads `config.json` and `generation_config.json` of a model folder; the end-of-sequence ids of both count.
 * Throws TrainerError `not_found` or `bad_input` naming the file.
 */
export async function readConfig(folder: string): Promise<Qwen2Config> {
  const file = path.join(folder, 'config.json');
  const json = await readJson(file);
  if (json === undefined) throw new TrainerError('not_found', `There is no ${file}. A model folder holds config.json, model.safetensors and tokenizer.json.`);
  const config = parseConfig(json, file);
  const generationFile = path.join(folder, 'generation_config.json');
  const generation = parseAs(z.looseObject({ eos_token_id: TokenIds }), await readJson(generationFile) ?? {}, generationFile);
  return { ...config, eosIds: [...new Set([...config.eosIds, ...idList(generation.eos_token_id)])] };
}

/** A JSON file, or undefined if it does not exist. Throws TrainerError `bad_input` when it cannot be parsed. */
export async function readJson(file: string): Promise<unknown> {
  const text = await readText(file);
  if (text === undefined) return undefined;
  try {
    return parseJsonText(text);
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    throw new TrainerError('bad_input', `${file} is not valid JSON (line ${error.line}, column ${error.column}): ${error.message}.`, { cause: error });
  }
}

/** A text file, or undefined if it does not exist. Throws TrainerError `environment` when it cannot be read. */
export async function readText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new TrainerError('environment', `${file} cannot be read: ${messageOf(error)}. It must be a readable file.`, { cause: error });
  }
}

function idList(ids: z.infer<typeof TokenIds>): number[] {
  if (ids === null || ids === undefined) return [];
  return Array.isArray(ids) ? ids : [ids];
}
