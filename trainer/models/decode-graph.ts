import { GraphBuilder, type Value } from '../engine/graph.ts';
import { int32 } from '../engine/tensor.ts';
import { causalAttention, hiddenScore, perLayer } from './attention.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { decoder, softcap, vocabularyLogits, type Attention } from './decoder.ts';
import { samplingWeights, type PolicyWeights } from './policy-weights.ts';

/** Graph outputs with the new keys and values of a layer. */
export const keyOutput = (layer: number) => `key ${layer}`;
export const valueOutput = (layer: number) => `value ${layer}`;
/** Graph inputs with the cached keys and values of a layer. */
export const pastKeyInput = (layer: number) => `past key ${layer}`;
export const pastValueInput = (layer: number) => `past value ${layer}`;

/**
 * Whole prompts at once. Inputs: tokens int32 [B, T] (padded on the right), last int32 [B] (flat index b·T + t of each row's last token).
 * Outputs: logits [B, V] after the last token; key and value [B, kvHeads, T, headDim] of each layer, keys rotated.
 */
export function prefillGraph(config: DecoderConfig, weights: PolicyWeights, batch: number, length: number): GraphBuilder {
  const b = new GraphBuilder();
  const weight = samplingWeights(b, weights);
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
export function stepGraph(config: DecoderConfig, weights: PolicyWeights, batch: number, cacheLength: number): GraphBuilder {
  const b = new GraphBuilder();
  const weight = samplingWeights(b, weights);
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
