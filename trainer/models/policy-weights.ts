import type { GraphBuilder, Value } from '../engine/graph.ts';
import type { Tensor } from '../engine/tensor.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { wholeWeights, type Weights } from './decoder.ts';
import { baseWeights, isOfLinearLayer, type FrozenBase } from './frozen-base.ts';
import { factorShapes, steadyLowRank, withFactors, type LoraSettings } from './lora.ts';
import { parameterShapes } from './parameters.ts';
import { quantizedWeights } from './quantized-model.ts';
import { withTwoRows } from './two-rows.ts';
import type { ParameterBlock } from './weights.ts';

/** What training with LoRA leaves as it is: the model, and where its factors go. */
export interface Frozen { readonly base: FrozenBase; readonly lora: LoraSettings }

/** The weights of a policy. */
export interface PolicyWeights {
  /** What training changes: every parameter of the model, or with LoRA the factors. */
  readonly trainable: ParameterBlock;
  /** Null when the model itself is trained. */
  readonly frozen: Frozen | null;
}

/** A model that is trained itself. */
export function wholeModel(trainable: ParameterBlock): PolicyWeights { return { trainable, frozen: null }; }

/**
 * Weights as graph inputs, fed at each run (all of a model, or those that `has` says yes to), and those of them that are trained. A frozen model is fed as well: a constant would be copied into every
 * compiled graph.
 */
export function weightInputs(b: GraphBuilder, config: DecoderConfig, frozen: Frozen | null, has: (name: string) => boolean = () => true): { weight: Weights; trainable: ReadonlyMap<string, Value> } {
  const inputs = (shapes: ReadonlyMap<string, readonly number[]>) => new Map([...shapes].filter(([name]) => has(name)).map(([name, shape]) => [name, b.input(name, 'float32', shape)]));
  if (!frozen) {
    const parameters = inputs(parameterShapes(config));
    return { weight: wholeWeights(b, (name) => parameters.get(name) as Value), trainable: parameters };
  }
  const kept = new Map([...frozen.base.tensors].filter(([name]) => has(name)).map(([name, { dtype, shape }]) => [name, b.input(name, dtype, shape)]));
  const model = baseWeights(b, frozen.base, (name) => kept.get(name) as Value, false);
  const factors = inputs(factorShapes(config, frozen.lora));
  return { weight: withFactors(b, model, (name) => factors.get(name) as Value, frozen.lora), trainable: factors };
}

/** What a graph of `weightInputs` is fed: the trainable weights, or others in their place (a reference), and what is frozen. */
export function weightFeeds({ trainable, frozen }: PolicyWeights, instead: ParameterBlock = trainable): Record<string, Tensor> {
  return Object.fromEntries([...frozen?.base.tensors ?? [], ...instead.tensors]);
}

/**
 * Weights of a graph that only samples. The model is part of the compiled graph: ONNX Runtime packs it once, which makes products of few rows two to three
 * times faster; and it sums packed products in one order whatever the number of rows, where the order for weights fed as inputs changes with it: a
 * request would not repeat among others bit for bit. Factors are inputs, so an update needs no new graph. So are matrices of float16 and int8: constants would
 * be expanded to float32, and there is no kernel that multiplies with them as they are (with those of int4 there is). With a `quantized` copy of the model, that is what samples.
 */
export function samplingWeights(b: GraphBuilder, { trainable, frozen }: PolicyWeights, quantized: ReadonlyMap<string, Tensor> | null): Weights {
  if (quantized) return frozen ? factored(b, quantizedWeights(b, quantized), trainable, frozen) : quantizedWeights(b, quantized);
  const constants = (tensors: ReadonlyMap<string, Tensor>) => new Map([...tensors].map(([name, tensor]) => [name, b.constant(tensor)]));
  if (!frozen) {
    const parameters = constants(trainable.tensors);
    return wholeWeights(b, (name) => parameters.get(name) as Value);
  }
  const fed = fedParts(frozen.base);
  const kept = constants(new Map([...frozen.base.tensors].filter(([name]) => !fed.has(name))));
  for (const [name, { dtype, shape }] of fed) kept.set(name, b.input(name, dtype, shape));
  const base = baseWeights(b, frozen.base, (name) => kept.get(name) as Value, fed.size === 0);
  const weight: Weights = frozen.base.type === 'float32' ? base : { ...base, linear: (x, name) => (isOfLinearLayer(name) ? withTwoRows(b, x, (rows) => base.linear(rows, name)) : base.linear(x, name)) };
  return factored(b, weight, trainable, frozen);
}

function factored(b: GraphBuilder, weight: Weights, { tensors }: ParameterBlock, { lora }: Frozen): Weights {
  const factors = new Map([...tensors].map(([name, { shape }]) => [name, b.input(name, 'float32', shape)]));
  return withFactors(b, weight, (name) => factors.get(name) as Value, lora, steadyLowRank);
}

/** What a graph of `samplingWeights` is fed. */
export function samplingFeeds({ trainable, frozen }: PolicyWeights, quantized: boolean): Record<string, Tensor> {
  if (!frozen) return {};
  return Object.fromEntries([...quantized ? [] : fedParts(frozen.base), ...trainable.tensors]);
}

/** What of a base a sampling graph is fed: the matrices kept as float16 or int8. */
function fedParts({ type, tensors }: FrozenBase): ReadonlyMap<string, Tensor> {
  return new Map(type === 'float16' || type === 'int8' ? [...tensors].filter(([name]) => isOfLinearLayer(name)) : []);
}
