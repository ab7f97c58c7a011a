import type { GraphBuilder, Value } from '../engine/graph.ts';
import { float32, int32 } from '../engine/tensor.ts';
import type { Qwen2Config } from './config.ts';
import { parameterShapes } from './parameters.ts';

/** Gives the graph value of a parameter by its Hugging Face name. */
export type Weights = (name: string) => Value;

/** Weights as graph inputs, fed at each run. */
export function weightInputs(b: GraphBuilder, config: Qwen2Config): Weights {
  const values = new Map([...parameterShapes(config)].map(([name, shape]) => [name, b.input(name, 'float32', shape)]));
  return (name) => values.get(name) as Value;
}

/** Queries, keys and values [B, T, width] of one layer, before rotary embedding, to the attention's output [B, T, heads·headDim]. */
export type Attention = (projections: { query: Value; key: Value; value: Value; layer: number }) => Value;

/**
 * Qwen2 decoder up to and including the final norm: tokens int32 [B, T] -> hidden states [N, hidden] at `rows` int32 [N], flat indices b·T + t.
 * Pre-norm blocks of grouped-query attention with biased q/k/v projections and a SwiGLU feed-forward. The last block's feed-forward runs for `rows` alone.
 */
export function decoder(b: GraphBuilder, config: Qwen2Config, weight: Weights, tokens: Value, attention: Attention, rows: Value): Value {
  const { normEps } = config;
  const select = (value: Value) => b.gather(b.reshape(value, [-1, value.shape.at(-1) as number]), rows);
  let x = b.gather(weight('model.embed_tokens.weight'), tokens);
  for (let layer = 0; layer < config.layers; layer++) {
    const w = (name: string) => weight(`model.layers.${layer}.${name}`);
    const project = (input: Value, name: string) => b.matmul(input, w(`${name}.weight`), { transB: true });
    const biased = (input: Value, name: string) => b.add(project(input, name), w(`${name}.bias`));

    const h = b.rmsNorm(x, w('input_layernorm.weight'), normEps);
    let attended = attention({ query: biased(h, 'self_attn.q_proj'), key: biased(h, 'self_attn.k_proj'), value: biased(h, 'self_attn.v_proj'), layer });
    if (layer === config.layers - 1) [x, attended] = [select(x), select(attended)];
    x = b.add(x, project(attended, 'self_attn.o_proj'));

    const f = b.rmsNorm(x, w('post_attention_layernorm.weight'), normEps);
    x = b.add(x, project(b.mul(b.silu(project(f, 'mlp.gate_proj')), project(f, 'mlp.up_proj')), 'mlp.down_proj'));
  }
  return b.rmsNorm(x, weight('model.norm.weight'), normEps);
}

/** Logits over the vocabulary: [..., hidden] -> [..., V]. With tied embeddings the output matrix is the embedding table. */
export function vocabularyLogits(b: GraphBuilder, config: Qwen2Config, weight: Weights, hidden: Value): Value {
  return b.matmul(hidden, weight(config.tied ? 'model.embed_tokens.weight' : 'lm_head.weight'), { transB: true });
}

/**
 * Causal attention over whole rows that start at position 0. Rows are padded on the right, so padding is never attended by a real token.
 * The queries of the heads that share a key/value head are stacked, so keys and values are not copied per head.
 * Also gives the rotated keys and the values, [B, kvHeads, T, headDim], for a cache.
 */
export function causalAttention(b: GraphBuilder, config: Qwen2Config, batch: number, length: number) {
  const { heads, kvHeads, headDim } = config;
  const group = heads / kvHeads;
  const { cos, sin } = ropeTables(b, config, length);
  const positions = b.constant(int32([batch, length], Array.from({ length: batch * length }, (_, i) => i % length)));
  const mask = b.constant(float32([length, length], Array.from({ length: length * length }, (_, i) => (i % length <= Math.floor(i / length) ? 0 : -1e9))));
  const split = (x: Value, n: number) => b.transpose(b.reshape(x, [batch, length, n, headDim]), [0, 2, 1, 3]);
  return ({ query, key, value }: Parameters<Attention>[0]): { output: Value; key: Value; value: Value } => {
    const q = b.rope(split(query, heads), positions, cos, sin);
    const k = b.rope(split(key, kvHeads), positions, cos, sin);
    const stacked = b.reshape(q, [batch, kvHeads, group * length, headDim]);
    const scores = b.matmul(stacked, k, { transB: true, alpha: 1 / Math.sqrt(headDim) });
    const masked = b.add(b.reshape(scores, [batch, kvHeads, group, length, length]), mask);
    const probabilities = b.reshape(b.softmax(masked), [batch, kvHeads, group * length, length]);
    const v = split(value, kvHeads);
    const mixed = b.reshape(b.matmul(probabilities, v), [batch, heads, length, headDim]);
    return { output: b.reshape(b.transpose(mixed, [0, 2, 1, 3]), [batch, length, heads * headDim]), key: k, value: v };
  };
}

/** Rotary tables [length, headDim/2], angle = position · theta^(-2i/headDim), computed in float64 (Su et al. 2021). */
export function ropeTables(b: GraphBuilder, { headDim, ropeTheta }: Qwen2Config, length: number): { cos: Value; sin: Value } {
  const half = headDim / 2;
  const angle = (i: number) => Math.floor(i / half) * ropeTheta ** (-(i % half) / half);
  const table = (f: (x: number) => number) => b.constant(float32([length, half], Array.from({ length: length * half }, (_, i) => f(angle(i)))));
  return { cos: table(Math.cos), sin: table(Math.sin) };
}
