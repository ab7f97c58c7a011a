import type { GraphBuilder, Value } from '../engine/graph.ts';
import { float32, int32 } from '../engine/tensor.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { softcap, type Attention } from './decoder.ts';
import { ropeTables } from './rope.ts';

export const hiddenScore = -1e9;

/** Where the tokens [B, T] of packed rows stand: inputs of a graph, see `causalAttention`. */
export interface Places { positionIds: Value; subtreeEnd: Value }

export function placesInputs(b: GraphBuilder, batch: number, length: number): Places {
  return { positionIds: b.input('position_ids', 'int32', [batch, length]), subtreeEnd: b.input('subtree_end', 'int32', [batch, length]) };
}

/**
 * Causal attention over packed rows [B, T]. A row holds texts merged by common prefixes, a forest in depth-first order: a token sees itself and those before it
 * whose subtree it is in. `positionIds` int32 [B, T]: place of the token in its own text; `subtreeEnd` int32 [B, T]: index in the row after the last token of its subtree
 * (T for a single text; for padding, which then sees itself alone, its own index + 1).
 * The queries of the heads that share a key/value head are stacked, so keys and values are not copied per head.
 */
export function causalAttention(b: GraphBuilder, config: DecoderConfig, { positionIds, subtreeEnd }: Places): (projections: Parameters<Attention>[0]) => Value {
  const { heads, kvHeads, headDim } = config;
  const group = heads / kvHeads;
  const [batch, length] = positionIds.shape as [number, number];
  const kindOf = perLayer(b, config, length, (window) => visible(b, { positionIds, subtreeEnd }, window));
  const split = (x: Value, n: number) => b.transpose(b.reshape(x, [batch, length, n, headDim]), [0, 2, 1, 3]);
  return ({ query, key, value, layer }) => {
    const { cos, sin, mask } = kindOf(layer);
    const q = b.rope(split(query, heads), positionIds, cos, sin);
    const k = b.rope(split(key, kvHeads), positionIds, cos, sin);
    const stacked = b.reshape(q, [batch, kvHeads, group * length, headDim]);
    const scores = softcap(b, b.matmul(stacked, k, { transB: true, alpha: config.attentionScale }), config.attentionSoftcap);
    const masked = b.add(b.reshape(scores, [batch, kvHeads, group, length, length]), mask);
    const probabilities = b.reshape(b.softmax(masked), [batch, kvHeads, group * length, length]);
    const mixed = b.reshape(b.matmul(probabilities, split(value, kvHeads)), [batch, heads, length, headDim]);
    return b.reshape(b.transpose(mixed, [0, 2, 1, 3]), [batch, length, heads * headDim]);
  };
}

/** 0 where a token (second last axis) sees another, `hiddenScore` elsewhere: [B, 1, 1, T, T]. */
function visible(b: GraphBuilder, { positionIds, subtreeEnd }: Places, window: number): Value {
  const [batch, length] = positionIds.shape as [number, number];
  const index = b.constant(int32([length, 1], Array.from({ length }, (_, i) => i)));
  const before = b.constant(float32([length, length], Array.from({ length: length * length }, (_, i) => (i % length <= Math.floor(i / length) ? 0 : hiddenScore))));
  const within = b.where(b.less(index, b.reshape(subtreeEnd, [batch, 1, 1, 1, length])), before, hiddenScore);
  if (window >= length) return within;
  const back = b.sub(b.reshape(positionIds, [batch, 1, 1, length, 1]), b.reshape(positionIds, [batch, 1, 1, 1, length]));
  return b.where(b.less(back, window), within, hiddenScore);
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
