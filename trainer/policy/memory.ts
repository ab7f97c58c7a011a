import { freemem } from 'node:os';
import { elementCount } from '../engine/tensor.ts';
import type { DecoderConfig } from '../models/decoder-config.ts';
import { isOfLinearLayer } from '../models/frozen-base.ts';
import { parameterCount, parameterShapes } from '../models/parameters.ts';
import type { MicroBatchShape } from '../models/training-graph.ts';
import type { BaseType } from '../protocol/lora-config.ts';
import type { SamplingDtype } from '../protocol/rollout.ts';
import { defaultLogits } from './head-pass.ts';

const bytesPerNumber = Float32Array.BYTES_PER_ELEMENT;

/** Of compiled graphs, whatever their size. */
const sessionBytes = 24 * 2 ** 20;

/** Micro-batches that need more are run layer by layer. */
export const wholeGraphLimit = 512 * 2 ** 20;

/** The estimate takes rows to be this long, in tokens; packing does not go beyond what that needs. Longer rows need more for their attention. */
export const rowLength = 512;

/** About what a micro-batch needs as one graph besides weights and gradients, in bytes: every activation of every layer, and four tensors of logits. */
export function wholeGraphBytes({ layers, hidden, heads, intermediate, vocab }: DecoderConfig, { batch, length, trained }: MicroBatchShape): number {
  const perToken = layers * (10 * hidden + 5 * intermediate + 2 * heads * length);
  return bytesPerNumber * (batch * length * perToken + 4 * trained * vocab);
}

/** What is kept for the backward pass when a micro-batch is run layer by layer, in bytes; `recompute`: the inputs of the layers alone. */
export function keptBytes({ layers, hidden, heads, kvHeads, headDim, intermediate }: DecoderConfig, { batch, length }: Pick<MicroBatchShape, 'batch' | 'length'>, recompute: boolean): number {
  const layer = recompute ? 0 : 2 * hidden + 2 * heads * headDim + 2 * kvHeads * headDim + 2 * intermediate + heads * length;
  return bytesPerNumber * batch * length * ((layers + 1) * hidden + layers * layer);
}

/** Bytes that this process could still use without others being pushed out. */
export function availableMemory(): number { return process.availableMemory?.() ?? freemem(); }

/** How a micro-batch is run: as one graph, or layer by layer, each layer forwards once or twice. */
export type Way = 'whole' | 'layers' | 'recompute';

/** The way of a micro-batch where nothing else is asked for; `checkpointing`: enable_gradient_checkpointing, `free`: bytes that activations may take. */
export function wayOf(config: DecoderConfig, shape: MicroBatchShape, checkpointing: boolean | undefined, free: number): Way {
  if (checkpointing !== true && wholeGraphBytes(config, shape) <= wholeGraphLimit) return 'whole';
  return checkpointing ?? keptBytes(config, shape, false) > free ? 'recompute' : 'layers';
}

/** Bytes per parameter; int8 and int4 are in blocks of 32 with a scale each. */
const bytesOf: Readonly<Record<BaseType, number>> = { float32: 4, float16: 2, int8: 1 + 4 / 32, int4: 1 / 2 + 4 / 32 };

export interface MemoryEstimate {
  /** Bytes: weights, those of a reference, gradients and both moments, what micro-batches need, the samplers' compiled copies of the weights. */
  weights: number; reference: number; training: number; activations: number; sampler: number;
  total: number;
}

/**
 * About what training needs, in bytes. `trained`: parameters that are trained; `tokens`: per micro-batch; `length`: of its rows; `undo`: an update makes
 * several optimiser steps, so that the state before it is kept; `base`: what the linear layers of a frozen model are kept in; `sampled`: what the samplers of the run compute with.
 */
export function estimateMemory(config: DecoderConfig, use: { trained: number; tokens: number; length: number; way: Way; reference: boolean; undo: boolean; base: BaseType; sampled: readonly SamplingDtype[] }): MemoryEstimate {
  const parameters = parameterCount(config);
  const linear = [...parameterShapes(config)].reduce((sum, [name, shape]) => sum + (isOfLinearLayer(name) ? elementCount(shape) : 0), 0);
  const lora = use.trained < parameters;
  const batch = Math.max(1, Math.floor(use.tokens / use.length));
  const parts = {
    weights: bytesPerNumber * (parameters - linear + (lora ? use.trained : 0)) + bytesOf[use.base] * linear,
    reference: use.reference ? bytesPerNumber * use.trained : 0,
    training: bytesPerNumber * use.trained * (use.undo ? 6 : 3),
    activations: activationBytes(config, { batch, length: use.length, trained: batch * use.length }, use.way, lora),
    sampler: [...new Set(use.sampled)].reduce((sum, dtype) => sum + (dtype === 'int8' ? bytesOf.int8 * parameters : bytesPerNumber * (parameters - linear) + compiledBytes(use.base) * linear), 0),
  };
  return { ...parts, total: Object.values(parts).reduce((a, b) => a + b, 0) };
}

/** Per parameter of a linear layer in a compiled graph that samples: float16 and int8 are fed to it where they lie (see `samplingWeights`). */
function compiledBytes(base: BaseType): number { return base === 'float16' || base === 'int8' ? 0 : bytesOf[base]; }

/**
 * About what a micro-batch takes beside weights, gradients and moments. The factors are measured (see `memory.test.ts`): ONNX Runtime keeps what the first run of a session took beside
 * the memory it plans for the others, a backward pass holds the results of the forward pass and their gradients, and gradients of weights are there as they are computed, copied out and added.
 */
export function activationBytes(config: DecoderConfig, shape: MicroBatchShape, way: Way, lora: boolean): number {
  const { vocab, hidden } = config;
  const parameters = bytesPerNumber * parameterCount(config);
  if (way === 'whole') {
    const logits = bytesPerNumber * 4 * shape.trained * vocab;
    return sessionBytes + 1.4 * (wholeGraphBytes(config, shape) - logits) + 2.1 * logits + (lora ? 0 : 3.4 * parameters);
  }
  const layer = wholeGraphBytes({ ...config, layers: 1 }, { ...shape, trained: 0 });
  const scores = bytesPerNumber * config.heads * shape.batch * shape.length ** 2;
  const logits = bytesPerNumber * 4 * Math.min(defaultLogits, shape.trained * vocab);
  const output = bytesPerNumber * vocab * hidden;
  const gradients = lora ? 0 : 2.6 * output + 3.5 * Math.max(0, (parameters - output) / config.layers);
  return sessionBytes + keptBytes(config, shape, way === 'recompute') + (way === 'recompute' ? 3.5 : 2.6) * layer + 5 * scores + 2.1 * logits + gradients;
}
