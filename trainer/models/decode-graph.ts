import { GraphBuilder, type Value } from '../engine/graph.ts';
import type { Tensor } from '../engine/tensor.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { decoder, softcap, vocabularyLogits, type Attention } from './decoder.ts';
import { samplingWeights, type PolicyWeights } from './policy-weights.ts';

/** Graph outputs with the new keys and values of a layer. */
export const keyOutput = (layer: number) => `key ${layer}`;
export const valueOutput = (layer: number) => `value ${layer}`;
/** Graph inputs with the cached keys and values of a layer. */
export const pastKeyInput = (layer: number) => `past key ${layer}`;
export const pastValueInput = (layer: number) => `past value ${layer}`;

/** Layers see the whole text before them or, in some models, a window of it; each kind has rotary tables and masks of its own. */
export type LayerKind = 'full' | 'sliding';
export const kindInputs = (kind: LayerKind) => ({ cos: `cos ${kind}`, sin: `sin ${kind}`, past: `past mask ${kind}`, own: `own mask ${kind}` });
export const layerKind = ({ sliding }: DecoderConfig, layer: number): LayerKind => (sliding?.layers[layer] ? 'sliding' : 'full');

/** B rows, S new tokens in each, P positions of cache, R tokens with logits, tables for L positions; masks with one row for all queries or one for each. */
export interface DecodeSizes { batch: number; tokens: number; capacity: number; logits: number; positions: number; maskRows: { past: number; own: number } }

/**
 * S more tokens for each of B rows over a key/value cache of P positions. Inputs: tokens int32 [B·S], position int32 [B, S] of each, last int32 [R] (flat indices
 * b·S + s of tokens whose logits are wanted), inverse_temperature [R, 1] of each, past keys and values [B, kvHeads, P, headDim] of each layer; for each kind of layer cos and sin [L, headDim/2] and
 * masks (0 for what a query attends to, -1e9 for the rest) over the cache [B, 1, 1 or group·S, P] and over the new tokens [1, 1, 1 or group·S, S], queries of
 * head 0 first. With a `quantized` copy of the model that is computed with. Outputs: logits [R, V]; probabilities [R, V] at those temperatures; key and value [B, kvHeads, S, headDim] of each layer, for the caller to put in the cache at `position`.
 */
export function decodeGraph(config: DecoderConfig, weights: PolicyWeights, quantized: ReadonlyMap<string, Tensor> | null, { batch, tokens, logits, ...sizes }: DecodeSizes): GraphBuilder {
  const b = new GraphBuilder();
  const weight = samplingWeights(b, weights, quantized);
  const ids = b.input('tokens', 'int32', [batch * tokens]);
  const position = b.input('position', 'int32', [batch, tokens]);
  const hidden = decoder(b, config, weight, ids, cachedAttention(b, config, position, sizes), b.input('last', 'int32', [logits]));
  const scores = b.output('logits', vocabularyLogits(b, config, weight, hidden));
  b.output('probabilities', b.softmax(b.mul(scores, b.input('inverse_temperature', 'float32', [logits, 1]))));
  return b;
}

/**
 * Two graphs whose sizes all differ, for `compileForAnySize`. Masks have either form.
 */
export function decodeExamples(config: DecoderConfig, weights: PolicyWeights, quantized: ReadonlyMap<string, Tensor> | null): [GraphBuilder, GraphBuilder] {
  const group = config.heads / config.kvHeads;
  const example = (batch: number, tokens: number, capacity: number, maskRows: DecodeSizes['maskRows']) =>
    decodeGraph(config, weights, quantized, { batch, tokens, capacity, logits: batch + 1, positions: capacity + tokens, maskRows });
  return [example(2, 3, 64, { past: 1, own: group * 3 }), example(3, 5, 128, { past: group * 5, own: 1 })];
}

function cachedAttention(b: GraphBuilder, config: DecoderConfig, position: Value, { capacity, positions, maskRows }: Omit<DecodeSizes, 'batch' | 'tokens' | 'logits'>): Attention {
  const { heads, kvHeads, headDim } = config;
  const [batch, tokens] = position.shape as [number, number];
  const kinds = new Map<LayerKind, { cos: Value; sin: Value; past: Value; own: Value }>();
  const inputsOf = (kind: LayerKind) => {
    const names = kindInputs(kind);
    const table = (name: string) => b.input(name, 'float32', [positions, headDim / 2]);
    return {
      cos: table(names.cos), sin: table(names.sin),
      past: b.input(names.past, 'float32', [batch, 1, maskRows.past, capacity]), own: b.input(names.own, 'float32', [1, 1, maskRows.own, tokens]),
    };
  };
  const kindOf = (kind: LayerKind) => {
    const inputs = kinds.get(kind) ?? inputsOf(kind);
    kinds.set(kind, inputs);
    return inputs;
  };
  const split = (x: Value, n: number) => b.transpose(b.reshape(b.unflatten(x, position), [batch, tokens, n, headDim]), [0, 2, 1, 3]);
  const cache = [batch, kvHeads, capacity, headDim];
  return ({ query, key, value, layer }) => {
    const kind = layerKind(config, layer);
    const { cos, sin, past, own } = kindOf(kind);
    // The queries of the heads that share a key/value head are stacked, so keys and values are not copied per head.
    const q = b.reshape(b.rope(split(query, heads), position, cos, sin), [batch, kvHeads, -1, headDim]);
    const k = b.output(keyOutput(layer), b.rope(split(key, kvHeads), position, cos, sin));
    const v = b.output(valueOutput(layer), split(value, kvHeads));
    const score = (keys: Value, mask: Value) => b.add(softcap(b, b.matmul(q, keys, { transB: true, alpha: config.attentionScale }), config.attentionSoftcap), mask);
    const scores = b.concat([score(b.input(pastKeyInput(layer), 'float32', cache), past), score(k, own)], 3);
    const [cached, fresh] = b.splitLike(b.softmax(scores), past, own);
    const mixed = b.add(b.matmul(cached, b.input(pastValueInput(layer), 'float32', cache)), b.matmul(fresh, v));
    return b.reshape(b.transpose(b.reshape(mixed, [batch, heads, -1, headDim]), [0, 2, 1, 3]), [-1, heads * headDim]);
  };
}
