import { GraphBuilder, type Value } from '../engine/graph.ts';
import { int32, type Tensor } from '../engine/tensor.ts';
import { causalAttention, hiddenScore, perLayer } from './attention.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { decoder, softcap, vocabularyLogits, wholeWeights, type Attention, type Weights } from './decoder.ts';

/** Graph outputs with the new keys and values of a layer. */
export const keyOutput = (layer: number) => `key ${layer}`;
export const valueOutput = (layer: number) => `value ${layer}`;
/** Graph inputs with the cached keys and values of a layer. */
export const pastKeyInput = (layer: number) => `past key ${layer}`;
export const pastValueInput = (layer: number) => `past value ${layer}`;

/**
 * Weights are part of the compiled graph. ONNX Runtime packs them once, which makes products of few rows two to three times faster; and it sums packed products
 * in one order whatever the number of rows, where the order for weights fed as inputs changes with it: a request would not repeat among others bit for bit.
 */
export type FrozenWeights = ReadonlyMap<string, Tensor<'float32'>>;

/**
 * Whole prompts at once. Inputs: tokens int32 [B, T] (padded on the right), last int32 [B] (flat index b·T + t of each row's last token).
 * Outputs: logits [B, V] after the last token; key and value [B, kvHeads, T, headDim] of each layer, keys rotated.
 */
export function prefillGraph(config: DecoderConfig, weights: FrozenWeights, batch: number, length: number): GraphBuilder {
  const b = new GraphBuilder();
  const weight = constants(b, weights);
  const plain = causalAttention(b, config, batch, length);
  const attention: Attention = (projections) => {
    const { output, key, value } = plain(projections);
    b.output(keyOutput(projections.layer), key);
    b.output(valueOutput(projections.layer), value);
    return output;
  };
  const hidden = decoder(b, config, weight, b.input('tokens', 'int32', [batch, length]), attention, b.input('last', 'int32', [batch]));
  b.output('logits', vocabularyLogits(b, config, weight, hidden));
  return b;
}

/**
 * One token for each of B rows over a key/value cache of P positions. Inputs: tokens int32 [B, 1], position int32 [B, 1] of the token,
 * visible [B, P] (0 for cached positions to attend to, -1e9 for others), past keys and values [B, kvHeads, P, headDim] of each layer.
 * Outputs: logits [B, V]; key and value [B, kvHeads, 1, headDim] of each layer, for the caller to put in the cache at `position`.
 */
export function stepGraph(config: DecoderConfig, weights: FrozenWeights, batch: number, cacheLength: number): GraphBuilder {
  const b = new GraphBuilder();
  const weight = constants(b, weights);
  const tokens = b.input('tokens', 'int32', [batch, 1]);
  const every = b.constant(int32([batch], Array.from({ length: batch }, (_, i) => i)));
  const hidden = decoder(b, config, weight, tokens, cachedAttention(b, config, batch, cacheLength), every);
  b.output('logits', vocabularyLogits(b, config, weight, hidden));
  return b;
}

function cachedAttention(b: GraphBuilder, config: DecoderConfig, batch: number, cacheLength: number): Attention {
  const { heads, kvHeads, headDim } = config;
  const group = heads / kvHeads;
  const position = b.input('position', 'int32', [batch, 1]);
  const visible = b.input('visible', 'float32', [batch, cacheLength]);
  const kindOf = perLayer(b, config, cacheLength, (window) => {
    const seen = window === Infinity ? visible : b.where(b.greater(cachePositions(b, cacheLength), b.sub(position, window)), visible, hiddenScore);
    return b.reshape(seen, [batch, 1, 1, cacheLength]);
  });
  const past = { dtype: 'float32', shape: [batch, kvHeads, cacheLength, headDim] } as const;
  return ({ query, key, value, layer }) => {
    const { cos, sin, mask } = kindOf(layer);
    const score = (keys: Value) => softcap(b, b.matmul(q, keys, { transB: true, alpha: config.attentionScale }), config.attentionSoftcap);
    // One token: [B, 1, n·D] is [B, n, 1, D] without moving anything.
    const q = b.reshape(b.rope(b.reshape(query, [batch, heads, 1, headDim]), position, cos, sin), [batch, kvHeads, group, headDim]);
    const k = b.output(keyOutput(layer), b.rope(b.reshape(key, [batch, kvHeads, 1, headDim]), position, cos, sin));
    const v = b.output(valueOutput(layer), b.reshape(value, [batch, kvHeads, 1, headDim]));
    const pastKey = b.input(pastKeyInput(layer), past.dtype, past.shape);
    const pastValue = b.input(pastValueInput(layer), past.dtype, past.shape);
    const [p, own] = b.split(b.softmax(b.concat([b.add(score(pastKey), mask), score(k)], 3)), 3, [cacheLength, 1]) as [Value, Value];
    const mixed = b.add(b.matmul(p, pastValue), b.mul(own, v));
    return b.reshape(mixed, [batch, 1, heads * headDim]);
  };
}

function cachePositions(b: GraphBuilder, cacheLength: number): Value {
  return b.constant(int32([1, cacheLength], Array.from({ length: cacheLength }, (_, i) => i)));
}

function constants(b: GraphBuilder, weights: FrozenWeights): Weights {
  const values = new Map([...weights].map(([name, tensor]) => [name, b.constant(tensor)]));
  return wholeWeights(b, (name) => values.get(name) as Value);
}
