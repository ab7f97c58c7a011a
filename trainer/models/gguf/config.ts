import { TrainerError } from '../../protocol/errors.ts';
import { decoderConfig, layouts, type DecoderConfig, type Family } from '../decoder-config.ts';
import { ropeFrequencies, yarnAttentionFactor, type Rope, type RopeScaling } from '../rope.ts';
import type { GgufHeader } from './read.ts';
import type { GgufValue } from './types.ts';
import { float32, string, uint32, type TypedValue } from './write.ts';

/** llama.cpp's names of the families. */
export const architectures: Readonly<Record<Family, string>> = { llama: 'llama', qwen2: 'qwen2', qwen3: 'qwen3', gemma2: 'gemma2', gemma3_text: 'gemma3' };

/** Metadata by type; throws when a value is there and of another type, or is missing without a default. */
interface Fields {
  number(key: string, fallback?: number): number;
  optional(key: string): number | null;
  text(key: string): string | null;
}

/** The configuration that the metadata of a GGUF file tells. Throws TrainerError `bad_input` naming the file and what is not supported. */
export function configOfGguf(header: GgufHeader): DecoderConfig {
  const { file, metadata, tensors } = header;
  const refuse = (problem: string) => new TrainerError('bad_input', `${file}: ${problem}`);
  const architecture = fieldsOf(header, '').text('general.architecture') ?? 'unknown';
  const family = (Object.keys(architectures) as Family[]).find((name) => architectures[name] === architecture);
  const use = `Use a model of one of these architectures: ${Object.values(architectures).join(', ')}.`;
  const read = fieldsOf(header, `${architecture}.`);
  if ((read.optional('expert_count') ?? 0) > 1) throw refuse(`${architecture}: mixture of experts is not supported. ${use}`);
  if (!family) throw refuse(`the architecture "${architecture}" is not supported: its layout is not known. ${use}`);
  if (Number(metadata.get('split.count') ?? 1) > 1) throw refuse(`it is one of ${String(metadata.get('split.count'))} parts of a model. Join them first (llama-gguf-split --merge).`);

  const [hidden, heads, layers] = [read.number('embedding_length'), read.number('attention.head_count'), read.number('block_count')];
  const headDim = read.number('attention.key_length', hidden / heads);
  if (read.number('attention.value_length', headDim) !== headDim) throw refuse('values of another size than the keys (attention.value_length) are not supported.');
  if (read.number('rope.dimension_count', headDim) !== headDim) throw refuse('rotary embedding of a part of each head (rope.dimension_count) is not supported.');
  const contextLength = read.number('context_length');
  const rope: Rope = { theta: read.number('rope.freq_base', 10_000), scaling: scalingOf(read, contextLength, refuse) };
  const has = (name: string) => tensors.has(name);
  const sizes = {
    vocab: tensors.get('token_embd.weight')?.shape[0] ?? 0, hidden, intermediate: read.number('feed_forward_length'), layers, heads, kvHeads: read.number('attention.head_count_kv', heads), headDim, contextLength,
  };
  const wrong = Object.entries(sizes).find(([, size]) => !Number.isInteger(size) || size < 1 || size > 2 ** 24);
  if (wrong) throw refuse(`its metadata gives ${wrong[0]} = ${wrong[1]}, which is no size of a model.`);
  return decoderConfig(family, sizes, {
    normEps: read.number('attention.layer_norm_rms_epsilon'),
    rope,
    sliding: slidingOf(family, read, metadata.get(`${architecture}.attention.sliding_window_pattern`), layers, rope),
    attentionBias: has('blk.0.attn_output.bias') ? 'qkvo' : has('blk.0.attn_q.bias') ? 'qkv' : 'none',
    attentionScale: 1 / Math.sqrt(scaledAs(family, sizes)),
    attentionSoftcap: family === 'gemma2' ? read.number('attn_logit_softcapping', 50) : null,
    logitSoftcap: family === 'gemma2' ? read.number('final_logit_softcapping', 30) : read.optional('final_logit_softcapping'),
    tied: !has('output.weight'),
  });
}

/** Why llama.cpp would compute something else than this configuration, as the rest of a sentence; null when it would not. */
export function beyondLlamaCpp(config: DecoderConfig): string | null {
  const { family, sliding } = config;
  if (family === 'qwen2' && config.headDim * config.heads !== config.hidden) return `its heads have ${config.headDim} elements and not hidden / heads`;
  if (sliding && !layouts[family].sandwichNorms) return `it has no sliding windows in ${family} models`;
  const period = sliding ? sliding.layers.indexOf(false) + 1 : 0;
  if (sliding && sliding.layers.some((local, layer) => local !== (period === 0 || (layer + 1) % period !== 0))) return 'its sliding windows follow no regular pattern';
  if (layouts[family].sandwichNorms && Math.abs(config.attentionScale * Math.sqrt(scaledAs(family, config)) - 1) > 1e-6) return 'its attention scores have another scale (query_pre_attn_scalar)';
  if (config.attentionBias === 'qkvo' && family !== 'llama') return `it has no attention_bias in ${family} models`;
  if (config.rope.scaling?.type === 'llama3' && family !== 'llama') return `it has no rope_scaling of type "llama3" in ${family} models`;
  return null;
}

/** Metadata of a configuration, as llama.cpp reads it. */
export function configMetadata(config: DecoderConfig): [string, TypedValue][] {
  const architecture = architectures[config.family];
  const { sliding, rope: { theta, scaling } } = config;
  const fields: [string, TypedValue][] = [
    ['context_length', uint32(config.contextLength)], ['embedding_length', uint32(config.hidden)], ['block_count', uint32(config.layers)],
    ['feed_forward_length', uint32(config.intermediate)], ['attention.head_count', uint32(config.heads)], ['attention.head_count_kv', uint32(config.kvHeads)],
    ['attention.key_length', uint32(config.headDim)], ['attention.value_length', uint32(config.headDim)], ['rope.dimension_count', uint32(config.headDim)],
    ['attention.layer_norm_rms_epsilon', float32(config.normEps)], ['rope.freq_base', float32(theta)], ['vocab_size', uint32(config.vocab)],
  ];
  if (sliding) {
    fields.push(['attention.sliding_window', uint32(sliding.size)], ['attention.sliding_window_pattern', uint32(sliding.layers.indexOf(false) + 1)]);
    if (config.family === 'gemma3_text') fields.push(['rope.freq_base_swa', float32(sliding.rope.theta)]);
  }
  if (config.attentionSoftcap !== null) fields.push(['attn_logit_softcapping', float32(config.attentionSoftcap)]);
  if (config.logitSoftcap !== null) fields.push(['final_logit_softcapping', float32(config.logitSoftcap)]);
  if (scaling && scaling.type !== 'llama3') { // Llama 3's goes into a tensor
    fields.push(['rope.scaling.type', string(scaling.type)], ['rope.scaling.factor', float32(scaling.factor)]);
    if (scaling.type === 'yarn') fields.push(
      ['rope.scaling.original_context_length', uint32(scaling.originalContext)], ['rope.scaling.yarn_beta_fast', float32(scaling.betaFast)], ['rope.scaling.yarn_beta_slow', float32(scaling.betaSlow)],
      ['rope.scaling.attn_factor', float32(scaling.attentionFactor / yarnAttentionFactor(scaling.factor))],
    );
  }
  return [['general.architecture', string(architecture)], ...fields.map(([key, value]): [string, TypedValue] => [`${architecture}.${key}`, value])];
}

/** Llama 3's scaling lies in a GGUF file as the factors by which each frequency is divided. */
export function llama3Factors(rope: Rope, headDim: number): Float32Array {
  const plain = ropeFrequencies({ theta: rope.theta, scaling: null }, headDim);
  return Float32Array.from(ropeFrequencies(rope, headDim), (frequency, i) => (plain[i] as number) / frequency);
}

/** The scaling that gives these factors; null when it is none of Llama 3's. */
export function llama3Scaling(factors: Float32Array, theta: number, contextLength: number): RopeScaling | null {
  const factor = Math.max(...factors);
  for (const originalContext of [8192, ...[2, 4, 8, 16, 32].map((n) => contextLength / n)]) {
    const scaling: RopeScaling = { type: 'llama3', factor, lowFreqFactor: 1, highFreqFactor: 4, originalContext };
    const expected = llama3Factors({ theta, scaling }, factors.length * 2);
    if (factors.every((f, i) => Math.abs(f / (expected[i] as number) - 1) < 1e-4)) return scaling;
  }
  return null;
}

/** Queries are divided by the root of it. It does not lie in the file: llama.cpp knows that the largest Gemmas differ. */
function scaledAs(family: Family, { hidden, heads, layers, headDim }: { hidden: number; heads: number; layers: number; headDim: number }): number {
  return (family === 'gemma2' && layers === 46) || (family === 'gemma3_text' && layers === 62) ? hidden / heads : headDim;
}

function slidingOf(family: Family, read: Fields, pattern: GgufValue | undefined, layers: number, rope: Rope): DecoderConfig['sliding'] {
  const size = read.optional('attention.sliding_window') ?? (family === 'gemma2' ? 4096 : null);
  if (size === null || size === 0 || !layouts[family].sandwichNorms) return null; // llama.cpp has sliding windows in Gemma alone of these families
  const period = typeof pattern === 'number' ? pattern : family === 'gemma2' ? 2 : 6;
  const localRope = family === 'gemma3_text' ? { theta: read.number('rope.freq_base_swa', 10_000), scaling: null } : rope;
  return { size, layers: Array.from({ length: layers }, (_, layer) => period === 0 || (layer + 1) % period !== 0), rope: localRope };
}

function scalingOf(read: Fields, contextLength: number, refuse: (problem: string) => TrainerError): RopeScaling | null {
  const factor = read.number('rope.scaling.factor', 1);
  const type = read.text('rope.scaling.type') ?? (factor === 1 ? 'none' : 'linear');
  switch (type) {
    case 'none': return null;
    case 'linear': return { type, factor };
    case 'yarn': return {
      type, factor, originalContext: read.number('rope.scaling.original_context_length', contextLength), betaFast: read.number('rope.scaling.yarn_beta_fast', 32),
      betaSlow: read.number('rope.scaling.yarn_beta_slow', 1), attentionFactor: read.number('rope.scaling.attn_factor', 1) * yarnAttentionFactor(factor),
    };
    default: throw refuse(`rotary embeddings scaled by "${type}" (rope.scaling.type) are not supported; linear, llama3 and yarn are.`);
  }
}

function fieldsOf({ file, metadata }: GgufHeader, prefix: string): Fields {
  const wrong = (key: string, what: string) => new TrainerError('bad_input', `${file}: ${prefix}${key} in its metadata ${what}.`);
  const optional = (key: string) => {
    const value = metadata.get(prefix + key);
    if (value !== undefined && typeof value !== 'number') throw wrong(key, 'must be one number; layers of different shapes are not supported');
    return value ?? null;
  };
  return {
    optional,
    number(key, fallback) {
      const value = optional(key) ?? fallback;
      if (value === undefined || !Number.isFinite(value)) throw wrong(key, 'is missing or not finite');
      return value;
    },
    text(key) {
      const value = metadata.get(prefix + key);
      if (value !== undefined && typeof value !== 'string') throw wrong(key, 'must be text');
      return value ?? null;
    },
  };
}
