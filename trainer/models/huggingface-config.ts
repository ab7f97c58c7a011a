import { z } from 'zod';
import { TrainerError } from '../protocol/errors.ts';
import { parseAs } from '../protocol/validate.ts';
import { decoderConfig, families, layouts, type DecoderConfig, type Family } from './decoder-config.ts';
import { yarnAttentionFactor, type Rope, type RopeScaling } from './rope.ts';

/** Beyond any model there is; larger sizes are damage, and would be taken for memory. */
export const maxVocabulary = 2 ** 24;
const size = (most: number) => z.number().int().min(1).max(most);
const TokenId = z.number().int().min(0).max(maxVocabulary - 1);
export const TokenIds = z.union([TokenId, z.array(TokenId)], { error: 'must be a token id or a list of them' }).nullish();

const positive = z.number().positive().nullish();
const RopeJson = z.looseObject({
  rope_type: z.string().optional(), type: z.string().optional(), rope_theta: positive, factor: positive, original_max_position_embeddings: positive,
  low_freq_factor: positive, high_freq_factor: positive, beta_fast: positive, beta_slow: positive, attention_factor: positive, mscale: positive, mscale_all_dim: positive,
  partial_rotary_factor: positive, truncate: z.boolean().optional(),
});
type RopeJson = z.infer<typeof RopeJson>;

/** Hugging Face `config.json` of a decoder, as much as decides the computation. Before transformers 5 rotary settings lay in `rope_theta`, `rope_scaling` and `rope_local_base_freq`. */
const DecoderJson = z.looseObject({
  model_type: z.enum(families),
  vocab_size: size(maxVocabulary),
  hidden_size: size(2 ** 18),
  intermediate_size: size(2 ** 20),
  num_hidden_layers: size(1024),
  num_attention_heads: size(4096),
  num_key_value_heads: size(4096).nullish(),
  head_dim: size(4096).nullish(),
  max_position_embeddings: size(2 ** 24).optional(),
  rms_norm_eps: z.number().positive().default(1e-6),
  rope_theta: positive,
  rope_local_base_freq: positive,
  rope_scaling: RopeJson.nullish(),
  rope_parameters: z.union([z.strictObject({ full_attention: RopeJson, sliding_attention: RopeJson }), RopeJson]).nullish(),
  hidden_act: z.string().optional(),
  hidden_activation: z.string().nullish(),
  attention_bias: z.boolean().default(false),
  tie_word_embeddings: z.boolean().optional(),
  use_sliding_window: z.boolean().default(false),
  sliding_window: size(2 ** 24).nullish(),
  sliding_window_pattern: size(1024).optional(),
  max_window_layers: z.number().int().min(0).optional(),
  layer_types: z.array(z.string()).nullish(),
  query_pre_attn_scalar: positive,
  attn_logit_softcapping: positive,
  final_logit_softcapping: positive,
  eos_token_id: TokenIds,
});
type DecoderJson = z.infer<typeof DecoderJson>;

/** What a `config.json` may leave out, as `transformers` fills it in. */
interface Defaults { contextLength: number; theta: number; headDim: number | null; tied: boolean; softcaps: [number, number] | [null, null] }
const defaults: Readonly<Record<Family, Defaults>> = {
  llama: { contextLength: 2048, theta: 1e4, headDim: null, tied: false, softcaps: [null, null] },
  qwen2: { contextLength: 32768, theta: 1e4, headDim: null, tied: false, softcaps: [null, null] },
  qwen3: { contextLength: 32768, theta: 1e4, headDim: 128, tied: false, softcaps: [null, null] },
  gemma2: { contextLength: 8192, theta: 1e4, headDim: 256, tied: true, softcaps: [50, 30] },
  gemma3_text: { contextLength: 131072, theta: 1e6, headDim: 256, tied: true, softcaps: [null, null] },
};

/** Reads a `config.json` already parsed. Throws TrainerError `bad_input` naming `source` and what is not supported. */
export function parseConfig(json: unknown, source: string): DecoderConfig {
  const refuse = (problem: string) => new TrainerError('bad_input', `${source}: ${problem}`);
  const missing = missingFeature(json);
  if (missing !== null) throw refuse(missing);
  const c = parseAs(DecoderJson, json, source);
  const preset = defaults[c.model_type];
  const activation = layouts[c.model_type].activation === 'silu' ? ['silu', 'swish'] : ['gelu_pytorch_tanh'];
  const named = (activation[0] === 'silu' ? c.hidden_act : c.hidden_activation) ?? activation[0]!;
  if (!activation.includes(named)) throw refuse(`the activation "${named}" is not supported; ${c.model_type} models use "${activation[0]}".`);
  const kvHeads = c.num_key_value_heads ?? c.num_attention_heads;
  const headDim = c.head_dim ?? preset.headDim ?? c.hidden_size / c.num_attention_heads;
  if (c.num_attention_heads % kvHeads !== 0) throw refuse(`num_attention_heads (${c.num_attention_heads}) must be a multiple of num_key_value_heads (${kvHeads}).`);
  if (!Number.isInteger(headDim) || headDim % 2 !== 0) throw refuse(`the head size (${headDim}) must be an even whole number.`);
  const contextLength = c.max_position_embeddings ?? preset.contextLength;
  const isGemma = layouts[c.model_type].sandwichNorms;
  return decoderConfig(c.model_type, {
    vocab: c.vocab_size, hidden: c.hidden_size, intermediate: c.intermediate_size, layers: c.num_hidden_layers, heads: c.num_attention_heads, kvHeads, headDim, contextLength,
  }, {
    normEps: c.rms_norm_eps,
    ...ropes(c, contextLength, refuse),
    attentionBias: c.model_type === 'qwen2' ? 'qkv' : c.attention_bias ? 'qkvo' : 'none',
    ...(isGemma ? { attentionScale: 1 / Math.sqrt(c.query_pre_attn_scalar ?? 256) } : {}),
    attentionSoftcap: c.attn_logit_softcapping === undefined ? preset.softcaps[0] : c.attn_logit_softcapping,
    logitSoftcap: c.final_logit_softcapping === undefined ? preset.softcaps[1] : c.final_logit_softcapping,
    tied: c.tie_word_embeddings ?? preset.tied,
    eosIds: idList(c.eos_token_id),
  });
}

/** What a model has that no graph is built for, as a sentence; null when it is of a family we know. */
function missingFeature(json: unknown): string | null {
  const found = z.looseObject({ model_type: z.string() }).safeParse(json);
  if (!found.success) return 'no "model_type" found. Point to the config.json of a Hugging Face model.';
  const c = found.data;
  const type = c.model_type;
  const use = `Use a text model of one of these types: ${families.join(', ')}.`;
  if (['num_local_experts', 'num_experts', 'n_routed_experts'].some((key) => Number(c[key] ?? 0) > 1)) return `${type}: mixture of experts is not supported. ${use}`;
  if (c['is_encoder_decoder'] === true) return `${type}: encoder-decoder models are not supported. ${use}`;
  if (c['vision_config'] ?? c['audio_config'] ?? c['text_config']) return `${type}: models that read images or sound are not supported. ${use}`;
  if (!(families as readonly string[]).includes(type)) return `the model type "${type}" is not supported: its layout is not known. ${use}`;
  if (c['quantization_config']) return `${type}: the weights are quantised (${String((c['quantization_config'] as Record<string, unknown>)['quant_method'])}), which is not supported in this form. Use the original model, or a GGUF file.`;
  if (c['mlp_bias'] === true) return `${type}: biases in the feed-forward (mlp_bias) are not supported.`;
  if (c['use_bidirectional_attention'] === true) return `${type}: attention to later tokens (use_bidirectional_attention) is not supported.`;
  return null;
}

/** Rotary embeddings, and which layers have a sliding window. */
function ropes(c: DecoderJson, contextLength: number, refuse: (problem: string) => TrainerError): Pick<DecoderConfig, 'rope' | 'sliding'> {
  const both = c.rope_parameters && 'full_attention' in c.rope_parameters ? c.rope_parameters as { full_attention: RopeJson; sliding_attention: RopeJson } : null;
  const theta = c.rope_theta ?? defaults[c.model_type].theta;
  const rope = ropeOf(both?.full_attention ?? { ...c.rope_scaling, ...c.rope_parameters as RopeJson | undefined }, theta, contextLength, refuse);
  const layers = slidingLayers(c, refuse);
  const window = c.sliding_window ?? (layouts[c.model_type].sandwichNorms ? 4096 : null);
  if (window === null || !layers.includes(true)) return { rope, sliding: null };
  const localRope = both ? ropeOf(both.sliding_attention, 10_000, contextLength, refuse)
    : c.model_type === 'gemma3_text' ? { theta: c.rope_local_base_freq ?? 10_000, scaling: null } : rope;
  return { rope, sliding: { size: window, layers, rope: localRope } };
}

function slidingLayers(c: DecoderJson, refuse: (problem: string) => TrainerError): boolean[] {
  const every = (test: (layer: number) => boolean) => Array.from({ length: c.num_hidden_layers }, (_, layer) => test(layer));
  if (c.layer_types) {
    const other = c.layer_types.find((type) => type !== 'full_attention' && type !== 'sliding_attention');
    if (other !== undefined) throw refuse(`layers of type "${other}" are not supported.`);
    if (c.layer_types.length !== c.num_hidden_layers) throw refuse(`layer_types has ${c.layer_types.length} entries for ${c.num_hidden_layers} layers.`);
    return c.layer_types.map((type) => type === 'sliding_attention');
  }
  if (c.model_type === 'gemma2') return every((layer) => layer % 2 === 0);
  if (c.model_type === 'gemma3_text') return every((layer) => (layer + 1) % (c.sliding_window_pattern ?? 6) !== 0);
  return every((layer) => c.use_sliding_window && layer >= (c.max_window_layers ?? 28));
}

function ropeOf(json: RopeJson, theta: number, contextLength: number, refuse: (problem: string) => TrainerError): Rope {
  const type = json.rope_type ?? json.type ?? 'default';
  if ((json.partial_rotary_factor ?? 1) !== 1) throw refuse('rotary embedding of a part of each head (partial_rotary_factor) is not supported.');
  return { theta: json.rope_theta ?? theta, scaling: type === 'default' ? null : scalingOf(type, json, contextLength, refuse) };
}

function scalingOf(type: string, json: RopeJson, contextLength: number, refuse: (problem: string) => TrainerError): RopeScaling {
  const need = (name: 'factor' | 'low_freq_factor' | 'high_freq_factor') => {
    const value = json[name];
    if (typeof value !== 'number') throw refuse(`rope_scaling of type "${type}" has no "${name}".`);
    return value;
  };
  const originalContext = json.original_max_position_embeddings ?? contextLength;
  switch (type) {
    case 'linear': return { type, factor: need('factor') };
    case 'llama3': return { type, factor: need('factor'), lowFreqFactor: need('low_freq_factor'), highFreqFactor: need('high_freq_factor'), originalContext };
    case 'yarn': {
      if (json.truncate === false) throw refuse('rope_scaling of type "yarn" with "truncate": false is not supported.');
      const factor = need('factor');
      const attentionFactor = json.attention_factor
        ?? (json.mscale && json.mscale_all_dim ? yarnAttentionFactor(factor, json.mscale) / yarnAttentionFactor(factor, json.mscale_all_dim) : yarnAttentionFactor(factor));
      return { type, factor, originalContext, betaFast: json.beta_fast ?? 32, betaSlow: json.beta_slow ?? 1, attentionFactor };
    }
    default: throw refuse(`rotary embeddings scaled by "${type}" (rope_scaling) are not supported; linear, llama3 and yarn are. Remove rope_scaling to use the trained context length.`);
  }
}

export function idList(ids: z.infer<typeof TokenIds>): number[] {
  if (ids === null || ids === undefined) return [];
  return Array.isArray(ids) ? ids : [ids];
}
