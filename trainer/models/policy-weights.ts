import type { GraphBuilder, Value } from '../engine/graph.ts';
import type { Tensor } from '../engine/tensor.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { wholeWeights, type Weights } from './decoder.ts';
import { factorShapes, steadyLowRank, withFactors, type LoraSettings } from './lora.ts';
import { parameterShapes } from './parameters.ts';
import type { ParameterBlock } from './weights.ts';

/** What training with LoRA leaves as it is: the model, and where its factors go. */
export interface Frozen { readonly base: ParameterBlock; readonly lora: LoraSettings }

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
 * Weights as graph inputs, fed at each run, and those of them that are trained. A frozen model is fed as well: a constant would be copied into every
 * compiled graph.
 */
export function weightInputs(b: GraphBuilder, config: DecoderConfig, frozen: Frozen | null): { weight: Weights; trainable: ReadonlyMap<string, Value> } {
  const inputs = (shapes: ReadonlyMap<string, readonly number[]>) => new Map([...shapes].map(([name, shape]) => [name, b.input(name, 'float32', shape)]));
  const parameters = inputs(parameterShapes(config));
  const model = wholeWeights(b, (name) => parameters.get(name) as Value);
  if (!frozen) return { weight: model, trainable: parameters };
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
 * request would not repeat among others bit for bit. Factors are inputs, so an update needs no new graph.
 */
export function samplingWeights(b: GraphBuilder, { trainable, frozen }: PolicyWeights): Weights {
  const model = frozen?.base ?? trainable;
  const values = new Map([...model.tensors].map(([name, tensor]) => [name, b.constant(tensor)]));
  const weight = wholeWeights(b, (name) => values.get(name) as Value);
  if (!frozen) return weight;
  const factors = new Map([...trainable.tensors].map(([name, { shape }]) => [name, b.input(name, 'float32', shape)]));
  return withFactors(b, weight, (name) => factors.get(name) as Value, frozen.lora, steadyLowRank);
}

/** What a graph of `samplingWeights` is fed. */
export function samplingFeeds({ trainable, frozen }: PolicyWeights): Record<string, Tensor> {
  return frozen ? Object.fromEntries(trainable.tensors) : {};
}
