import { freemem } from 'node:os';
import type { DecoderConfig } from '../models/decoder-config.ts';
import { parameterShapes } from '../models/parameters.ts';
import type { MicroBatchShape } from '../models/training-graph.ts';
import { elementCount } from '../engine/tensor.ts';
import { defaultLogits } from './head-pass.ts';

const bytesPerNumber = Float32Array.BYTES_PER_ELEMENT;

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

export interface MemoryEstimate {
  /** Bytes: weights, those of a reference, gradients and both moments, what micro-batches need, the sampler's compiled copy of the weights. */
  weights: number; reference: number; training: number; activations: number; sampler: number;
  total: number;
}

/**
 * About what training needs, in bytes. `trained`: parameters that are trained; `tokens`: per micro-batch; `length`: of its rows; `undo`: an update makes
 * several optimiser steps, so that the state before it is kept.
 */
export function estimateMemory(config: DecoderConfig, use: { trained: number; tokens: number; length: number; recompute: boolean; reference: boolean; undo: boolean }): MemoryEstimate {
  const parameters = [...parameterShapes(config).values()].reduce((sum, shape) => sum + elementCount(shape), 0);
  const lora = use.trained < parameters;
  const shape = { batch: Math.max(1, Math.floor(use.tokens / use.length)), length: use.length };
  const logits = 4 * Math.min(defaultLogits, use.tokens * config.vocab);
  const layer = wholeGraphBytes({ ...config, layers: 1 }, { ...shape, trained: 0 });
  const weights = bytesPerNumber * (parameters + (lora ? use.trained : 0));
  const parts = {
    weights,
    reference: use.reference ? bytesPerNumber * use.trained : 0,
    training: bytesPerNumber * use.trained * (use.undo ? 6 : 3),
    // Twice: ONNX Runtime keeps what the first run took beside the memory it plans for the others.
    activations: keptBytes(config, shape, use.recompute) + 2 * Math.max(layer, bytesPerNumber * (logits + (lora ? 0 : config.vocab * config.hidden))),
    sampler: bytesPerNumber * parameters,
  };
  return { ...parts, total: Object.values(parts).reduce((a, b) => a + b, 0) };
}
