import { TrainerError } from '../protocol/errors.ts';
import { anyDim, describe, type Shape, type Tensor, type ValueType } from './tensor.ts';

export type Tensors = Readonly<Record<string, Tensor>>;

/** A compiled graph. `run` blocks the JavaScript thread while it computes: use a worker thread beside anything that must answer. */
export interface Executable {
  readonly inputs: ReadonlyMap<string, ValueType>;
  readonly outputs: ReadonlyMap<string, ValueType>;
  /**
   * Feeds every input and returns every output. Outputs named in `into` are written to that memory; such a tensor may also be an input whose last
   * use is the output's own computation, as in an optimiser step. onnxruntime-node makes a copy of every output all the same.
   */
  run(feeds: Tensors, into?: Tensors): Promise<Record<string, Tensor>>;
  release(): Promise<void>;
}

/** Throws `internal` unless there is a tensor of the right type for each name, and none for another. `partial`: some may be left out. */
export function requireTensors(tensors: Tensors, types: ReadonlyMap<string, ValueType>, role: 'input' | 'output', partial = false): void {
  for (const name of Object.keys(tensors)) {
    if (!types.has(name)) throw new TrainerError('internal', `run: the graph has no ${role} "${name}"; it has ${[...types.keys()].join(', ')}`);
  }
  for (const [name, type] of types) {
    const given = tensors[name];
    if (!given) {
      if (partial) continue;
      throw new TrainerError('internal', `run: ${role} "${name}" of type ${describe(type)} is missing`);
    }
    if (given.dtype !== type.dtype || !hasShape(given.shape, type.shape)) {
      throw new TrainerError('internal', `run: ${role} "${name}" must be ${describe(type)}, got ${describe(given)}`);
    }
  }
}

function hasShape(shape: Shape, declared: Shape): boolean {
  return shape.length === declared.length && shape.every((dim, i) => declared[i] === anyDim || dim === declared[i]);
}
