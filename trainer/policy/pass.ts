import type { Tensors } from '../engine/executor.ts';
import { wrap, type Tensor } from '../engine/tensor.ts';
import type { Objective } from '../models/training-graph.ts';
import type { ParameterBlock } from '../models/weights.ts';
import type { MicroBatch } from './micro-batches.ts';

/** Per-token values a micro-batch's objective needs besides the micro-batch itself, and its scalar settings; names as in `trainingGraph`. */
export interface ObjectiveInputs { perToken: Record<string, Float32Array>; scalars: Record<string, number> }

/** Results of one forward pass for the real trained tokens of a micro-batch, in the order of `origins`. */
export interface TokenResults { loss: number; logprob: Float32Array; entropy: Float32Array }

export type LossObjective = Exclude<Objective, { kind: 'logprobs' }>;

/** A way to run a micro-batch forwards and backwards. */
export interface Pass {
  /** Log-probabilities and entropies, loss NaN. */
  forward(batch: MicroBatch, weights: Tensors): Promise<TokenResults>;
  /** Writes the gradients to `gradients`, or adds them to what is there. */
  backward(batch: MicroBatch, objective: LossObjective, inputs: ObjectiveInputs, weights: Tensors, gradients: ParameterBlock, mode: 'write' | 'add'): Promise<TokenResults>;
  release(): Promise<void>;
}

/** Inputs of an objective for the tokens from `start` on, `count` of them; 0 beyond the real tokens. */
export function objectiveFeeds({ perToken, scalars }: ObjectiveInputs, start: number, count: number): Record<string, Tensor> {
  return {
    ...Object.fromEntries(Object.entries(perToken).map(([name, values]) => [name, wrap('float32', [count], part(values, start, count))])),
    ...Object.fromEntries(Object.entries(scalars).map(([name, value]) => [name, wrap('float32', [], Float32Array.of(value))])),
  };
}

/** What attention needs to know of the tokens [B, T]. */
export function placeFeeds({ shape: { batch, length }, positionIds, subtreeEnd }: MicroBatch): Record<string, Tensor> {
  return { position_ids: wrap('int32', [batch, length], positionIds), subtree_end: wrap('int32', [batch, length], subtreeEnd) };
}

/** What the output layer needs of tokens `start` … `start + count`. */
export function tokenFeeds({ target, inverseTemperature }: MicroBatch, start: number, count: number): Record<string, Tensor> {
  return { target: wrap('int32', [count], part(target, start, count)), inv_temperature: wrap('float32', [count], part(inverseTemperature, start, count, 1)) };
}

/** `count` elements from `start` on, `fill` where there are none; the same memory where it can be. */
function part<T extends Float32Array | Int32Array>(values: T, start: number, count: number, fill = 0): T {
  if (start + count <= values.length) return values.subarray(start, start + count) as T;
  const padded = new (values.constructor as new (length: number) => T)(count).fill(fill) as T;
  padded.set(values.subarray(start));
  return padded;
}
