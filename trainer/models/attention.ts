import type { GraphBuilder, Value } from '../engine/graph.ts';
import { float32, int32 } from '../engine/tensor.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { softcap, type Attention } from './decoder.ts';
import { ropeTables } from './rope.ts';

export const hiddenScore = -1e9;

/**
 * Causal attention over whole rows that start at position 0. Rows are padded on the right, so padding is never attended by a real token.
 * The queries of the heads that share a key/value head are stacked, so keys and values are not copied per head.
 * Also gives the rotated keys and the values, [B, kvHeads, T, headDim], for a cache.
 */
export function causalAttention(b: GraphBuilder, config: DecoderConfig, batch: number, length: number) {
  const { heads, kvHeads, headDim } = config;
  const group = heads / kvHeads;
  const positions = b.constant(int32([batch, length], Array.from({ length: batch * length }, (_, i) => i % length)));
  const kindOf = perLayer(b, config, length, (window) => b.constant(float32([length, length], Array.from({ length: length * length }, (_, i) => {
    const back = Math.floor(i / length) - (i % length);
    return back >= 0 && back < window ? 0 : hiddenScore;
  }))));
  const split = (x: Value, n: number) => b.transpose(b.reshape(x, [batch, length, n, headDim]), [0, 2, 1, 3]);
  return ({ query, key, value, layer }: Parameters<Attention>[0]): { output: Value; key: Value; value: Value } => {
    const { cos, sin, mask } = kindOf(layer);
    const q = b.rope(split(query, heads), positions, cos, sin);
    const k = b.rope(split(key, kvHeads), positions, cos, sin);
    const stacked = b.reshape(q, [batch, kvHeads, group * length, headDim]);
    const scores = softcap(b, b.matmul(stacked, k, { transB: true, alpha: config.attentionScale }), config.attentionSoftcap);
    const masked = b.add(b.reshape(scores, [batch, kvHeads, group, length, length]), mask);
    const probabilities = b.reshape(b.softmax(masked), [batch, kvHeads, group * length, length]);
    const v = split(value, kvHeads);
    const mixed = b.reshape(b.matmul(probabilities, v), [batch, heads, length, headDim]);
    return { output: b.reshape(b.transpose(mixed, [0, 2, 1, 3]), [batch, length, heads * headDim]), key: k, value: v };
  };
}

/** Rotary tables for `length` positions and the mask of a layer, made once for all layers of its kind. `window`: tokens a layer of the kind sees. */
export function perLayer(b: GraphBuilder, { headDim, rope, sliding }: DecoderConfig, length: number, mask: (window: number) => Value) {
  const full = lazily(() => ({ ...ropeTables(b, headDim, rope, length), mask: mask(Infinity) }));
  const local = lazily(() => ({ ...ropeTables(b, headDim, sliding?.rope ?? rope, length), mask: mask(sliding?.size ?? Infinity) }));
  return (layer: number) => (sliding?.layers[layer] ? local() : full());
}

function lazily<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
