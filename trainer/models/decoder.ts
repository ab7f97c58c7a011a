import type { GraphBuilder, Value } from '../engine/graph.ts';
import { layouts, type DecoderConfig } from './decoder-config.ts';

/** A decoder's parameters as one graph has them: how a matrix is kept, and whether factors are added to it, is theirs alone to know. */
export interface Weights {
  /** A vector: of a norm, or a bias. `name` as Hugging Face gives it. */
  value: (name: string) => Value;
  /** x [..., in] · Wᵀ -> [..., out], where `name` is that of W [out, in]. */
  linear: (x: Value, name: string) => Value;
  /** Rows of the matrix `name` [V, D] at `ids` int32 [...i]: [...i, D]. */
  rows: (name: string, ids: Value) => Value;
}

/** Weights of which each is one whole value of the graph. */
export function wholeWeights(b: GraphBuilder, value: (name: string) => Value): Weights {
  return { value, linear: (x, name) => b.matmul(x, value(name), { transB: true }), rows: (name, ids) => b.gather(value(name), ids) };
}

/** Queries, keys and values [B, T, width] of one layer, before rotary embedding, to the attention's output [B, T, heads·headDim]. */
export type Attention = (projections: { query: Value; key: Value; value: Value; layer: number }) => Value;

/**
 * Decoder up to and including the final norm: tokens int32 [B, T] -> hidden states [N, hidden] at `rows` int32 [N], flat indices b·T + t; or [B, T, hidden] when `rows` is null.
 * The last layer's feed-forward runs for `rows` alone.
 */
export function decoder(b: GraphBuilder, config: DecoderConfig, weight: Weights, tokens: Value, attention: Attention, rows: Value | null): Value {
  let x = weight.rows('model.embed_tokens.weight', tokens);
  if (layouts[config.family].scaledEmbeddings) x = b.mul(x, Math.sqrt(config.hidden));
  for (let layer = 0; layer < config.layers; layer++) x = decoderLayer(b, config, weight, x, attention, layer, layer === config.layers - 1 ? rows : null);
  return finalNorm(b, config, weight, x);
}

/**
 * One pre-norm block of grouped-query attention and a gated feed-forward: hidden states [B, T, hidden] -> the same shape, or [N, hidden] at
 * `rows` int32 [N], flat indices b·T + t.
 */
export function decoderLayer(b: GraphBuilder, config: DecoderConfig, weight: Weights, x: Value, attention: Attention, layer: number, rows: Value | null): Value {
  const { qkNorm, sandwichNorms, activation } = layouts[config.family];
  const select = (value: Value) => (rows ? b.gather(b.reshape(value, [-1, value.shape.at(-1) as number]), rows) : value);
  const at = (name: string) => `model.layers.${layer}.${name}`;
  const norm = (value: Value, name: string) => rmsNorm(b, config, value, weight.value(at(`${name}.weight`)));
  const project = (input: Value, name: string) => weight.linear(input, at(`${name}.weight`));
  const biased = (input: Value, name: string, has: boolean) => (has ? b.add(project(input, name), weight.value(at(`${name}.bias`))) : project(input, name));
  const inputBias = config.attentionBias !== 'none';
  const headNorm = (value: Value, name: string) =>
    (qkNorm ? b.reshape(norm(b.reshape(value, [...value.shape.slice(0, -1), -1, config.headDim]), name), value.shape) : value);

  const h = norm(x, 'input_layernorm');
  const query = headNorm(biased(h, 'self_attn.q_proj', inputBias), 'self_attn.q_norm');
  const key = headNorm(biased(h, 'self_attn.k_proj', inputBias), 'self_attn.k_norm');
  const attended = attention({ query, key, value: biased(h, 'self_attn.v_proj', inputBias), layer });
  const mixed = biased(select(attended), 'self_attn.o_proj', config.attentionBias === 'qkvo');
  const middle = b.add(select(x), sandwichNorms ? norm(mixed, 'post_attention_layernorm') : mixed);

  const f = norm(middle, sandwichNorms ? 'pre_feedforward_layernorm' : 'post_attention_layernorm');
  const fed = project(b.mul(b[activation](project(f, 'mlp.gate_proj')), project(f, 'mlp.up_proj')), 'mlp.down_proj');
  return b.add(middle, sandwichNorms ? norm(fed, 'post_feedforward_layernorm') : fed);
}

/** The norm before the output layer. */
export function finalNorm(b: GraphBuilder, config: DecoderConfig, weight: Weights, x: Value): Value {
  return rmsNorm(b, config, x, weight.value('model.norm.weight'));
}

function rmsNorm(b: GraphBuilder, { family, normEps }: DecoderConfig, x: Value, weight: Value): Value {
  const { normOffset } = layouts[family];
  return b.rmsNorm(x, normOffset === 0 ? weight : b.add(weight, normOffset), normEps);
}

/** Logits over the vocabulary: [..., hidden] -> [..., V]. With tied embeddings the output matrix is the embedding table. */
export function vocabularyLogits(b: GraphBuilder, config: DecoderConfig, weight: Weights, hidden: Value): Value {
  return softcap(b, weight.linear(hidden, config.tied ? 'model.embed_tokens.weight' : 'lm_head.weight'), config.logitSoftcap);
}

/** cap · tanh(x / cap): nearly x where |x| is well below the cap (Gemma 2). */
export function softcap(b: GraphBuilder, x: Value, cap: number | null): Value { return cap === null ? x : b.mul(b.tanh(b.mul(x, 1 / cap)), cap); }
