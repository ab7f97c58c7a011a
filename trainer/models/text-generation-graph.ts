import { GraphBuilder, type Value } from '../engine/graph.ts';
import type { DynamicAxis } from '../engine/onnx/dynamic-axes.ts';
import type { Operator } from '../engine/operator.ts';
import { hiddenScore, perLayer } from './attention.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { decoder, softcap, vocabularyLogits, type Attention } from './decoder.ts';
import { parameterShapes } from './parameters.ts';
import { weightInputs } from './policy-weights.ts';

const pastKey = (layer: number) => `past_key_values.${layer}.key`;
const pastValue = (layer: number) => `past_key_values.${layer}.value`;

/**
 * A decoder as programs for text generation take it, with the names of Hugging Face Optimum, and the axes whose size is known at each run only: B rows of T tokens after P cached ones.
 * Inputs: every parameter by name; input_ids and position_ids int64 [B, T], attention_mask int64 [B, P + T] (0 where a row is padded, on either side),
 * past_key_values.N.key and .value [B, kvHeads, P, headDim] of each layer. Outputs: logits [B, T, V], present.N.key and .value [B, kvHeads, P + T, headDim].
 */
export function textGenerationGraph(config: DecoderConfig): { graph: GraphBuilder; axes: DynamicAxis[] } {
  const { batch, length, total } = standIns(config);
  const past = total - length;
  const b = new GraphBuilder();
  const ids = b.input('input_ids', 'int64', [batch, length]);
  const mask = b.input('attention_mask', 'int64', [batch, total]);
  const positions = b.input('position_ids', 'int64', [batch, length]);
  const { weight } = weightInputs(b, config, null);
  const kindOf = perLayer(b, config, config.contextLength, (window) => visibility(b, mask, { past, total, window }));

  const { heads, kvHeads, headDim } = config;
  const split = (x: Value, n: number) => b.transpose(b.reshape(x, [batch, length, n, headDim]), [0, 2, 1, 3]);
  const cached = (layer: number, name: (layer: number) => string, now: Value) =>
    b.output(name(layer).replace('past_key_values', 'present'), b.concat([b.input(name(layer), 'float32', [batch, kvHeads, past, headDim]), now], 2));
  const attention: Attention = ({ query, key, value, layer }) => {
    const { cos, sin, mask: visible } = kindOf(layer);
    const keys = cached(layer, pastKey, b.rope(split(key, kvHeads), positions, cos, sin));
    const values = cached(layer, pastValue, split(value, kvHeads));
    const stacked = b.reshape(b.rope(split(query, heads), positions, cos, sin), [batch, kvHeads, heads / kvHeads * length, headDim]);
    const scores = softcap(b, b.matmul(stacked, keys, { transB: true, alpha: config.attentionScale }), config.attentionSoftcap);
    const masked = b.add(b.reshape(scores, [batch, kvHeads, heads / kvHeads, length, total]), visible);
    const mixed = b.matmul(b.reshape(b.softmax(masked), scores.shape), values);
    return b.reshape(b.transpose(b.reshape(mixed, [batch, heads, length, headDim]), [0, 2, 1, 3]), [batch, length, heads * headDim]);
  };
  b.output('logits', vocabularyLogits(b, config, weight, decoder(b, config, weight, ids, attention, null)));
  const axis = (name: string, standIn: number, input: string, at: number): DynamicAxis => ({ name, standIn, of: { input, axis: at } });
  return {
    graph: b, axes: [
      axis('batch_size', batch, 'input_ids', 0), axis('sequence_length', length, 'input_ids', 1),
      axis('past_sequence_length', past, pastKey(0), 2), axis('past_sequence_length + sequence_length', total, 'attention_mask', 1),
    ],
  };
}

/** 0 where a token sees another, else `hiddenScore`: [B, 1, 1, T, P + T]. Places in the cache count, and not positions, so that padding does not shift windows. */
function visibility(b: GraphBuilder, mask: Value, { past, total, window }: { past: number; total: number; window: number }): Value {
  const places = b.apply(range, [], { size: total });
  const own = b.reshape(b.slice(places, 0, past, total), [-1, 1]);
  const one = b.scalar(1, 'int64');
  const causal = b.where(b.lessOrEqual(places, own), 0, hiddenScore);
  const near = window === Infinity ? causal : b.where(b.greater(places, b.sub(own, b.scalar(window, 'int64'))), causal, hiddenScore);
  return b.where(b.equal(b.reshape(mask, [-1, 1, 1, 1, total]), one), near, hiddenScore);
}

/** 0, 1, … as int64 [size]. */
const range: Operator<{ size: number }, readonly []> = {
  name: 'range',
  infer: (_types, { size }) => [{ dtype: 'int64', shape: [size] }],
  vjp: 'zero',
  onnx: (e, { attrs: { size } }) => [e.emit('Range', [e.scalar(0, 'int64'), e.emit('Squeeze', [e.ints([size])]), e.scalar(1, 'int64')])],
  tensorflow: (tf, { attrs: { size } }) => [tf.range(0, size, 1, 'int32')],
};

/** Sizes for rows, tokens and all places of the cache, such that no other size of the model, nor a product of some, is a multiple of one of them or of the cached ones. */
function standIns(config: DecoderConfig): { batch: number; length: number; total: number } {
  const sizes = [...parameterShapes(config).values()].flat().concat(config.contextLength, config.headDim, config.heads, config.kvHeads);
  const from = (start: number, fits: (n: number) => boolean): number => (fits(start) ? start : from(start + 1, fits));
  const unique = (n: number) => isPrime(n) && sizes.every((size) => size % n !== 0);
  const batch = from(10_000, unique);
  const length = from(batch + 1, unique);
  return { batch, length, total: from(20_000, (n) => unique(n) && unique((n - length) / 2)) };
}

function isPrime(n: number): boolean {
  for (let divisor = 2; divisor * divisor <= n; divisor++) if (n % divisor === 0) return false;
  return Number.isInteger(n);
}
