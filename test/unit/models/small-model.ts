import { compile, type CompileOptions } from '../../../trainer/engine/executor.ts';
import { wrap } from '../../../trainer/engine/tensor.ts';
import { decoderConfig, layouts, type DecoderConfig } from '../../../trainer/models/decoder-config.ts';
import { trainingGraph, type Objective } from '../../../trainer/models/training-graph.ts';
import { initialParameters, type ParameterBlock } from '../../../trainer/models/weights.ts';

export const engine = { provider: 'cpu', threads: 2 } as const;

export const smallConfig = decoderConfig('qwen2', { vocab: 23, hidden: 16, intermediate: 24, layers: 2, heads: 4, kvHeads: 2, headDim: 4, contextLength: 96 }, { eosIds: [2] });

/** Weights large enough for sharp distributions; norms and biases are random too, so that a forgotten one shows. */
export function smallWeights(config: DecoderConfig = smallConfig, seed = 1, std = 0.3): ParameterBlock {
  const weights = initialParameters(config, seed, std);
  const noise = initialParameters({ ...config, vocab: config.vocab * 8 }, seed + 1, std).flat;
  let at = 0;
  for (const [name, { data, shape }] of weights.tensors) {
    if (shape.length === 1) for (let i = 0; i < data.length; i++) data[i] = (name.endsWith('norm.weight') ? 1 - layouts[config.family].normOffset : 0) + noise[at++]!;
  }
  return weights;
}

/** What attention needs to know of rows that are a text each. */
export function unpacked(batch: number, length: number) {
  const each = (value: (i: number) => number) => wrap('int32', [batch, length], Int32Array.from({ length: batch * length }, (_, i) => value(i % length)));
  return { position_ids: each((i) => i), subtree_end: each(() => length) };
}

export function randomTokens(length: number, seed: number, vocab = smallConfig.vocab): number[] {
  let state = seed * 7919 + 1;
  return Array.from({ length }, () => { state = (state * 48271) % 2147483647; return state % vocab; });
}

/** Runs a training graph over one row of `length` positions whose tokens are all trained. */
export async function runRow(options: {
  config?: DecoderConfig; weights: ParameterBlock; tokens: number[]; length?: number; objective: Objective; temperature?: number;
  perToken?: Record<string, number[]>; scalars?: Record<string, number>; on?: CompileOptions;
}) {
  const { config = smallConfig, weights, tokens, length = tokens.length, objective, temperature = 1, perToken = {}, scalars = {}, on = engine } = options;
  const trained = tokens.length - 1;
  const session = await compile(trainingGraph(config, { batch: 1, length, trained }, objective), on);
  const padded = new Int32Array(length);
  padded.set(tokens);
  const vector = (values: number[]) => wrap('float32', [trained], Float32Array.from(values));
  const result = await session.run({
    ...Object.fromEntries(weights.tensors),
    tokens: wrap('int32', [1, length], padded),
    position: wrap('int32', [trained], Int32Array.from({ length: trained }, (_, i) => i)), ...unpacked(1, length),
    target: wrap('int32', [trained], Int32Array.from(tokens.slice(1))),
    inv_temperature: vector(Array<number>(trained).fill(1 / temperature)),
    ...Object.fromEntries(Object.entries(perToken).map(([name, values]) => [name, vector(values)])),
    ...Object.fromEntries(Object.entries(scalars).map(([name, value]) => [name, wrap('float32', [], Float32Array.of(value))])),
  });
  await session.release();
  return Object.fromEntries(Object.entries(result).map(([name, { data }]) => [name, data as Float32Array]));
}
