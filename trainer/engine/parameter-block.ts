import { elementCount, wrap, type Shape, type Tensor, type ValueType } from './tensor.ts';

/** Named tensors over one block of memory: copying, comparing and scanning them is one pass over `flat`. */
export interface ParameterBlock {
  readonly flat: Float32Array;
  readonly tensors: ReadonlyMap<string, Tensor<'float32'>>;
}

/** Zeros in these shapes (or in those of these tensors), one tensor behind the other. */
export function allocateBlock(shapes: Iterable<readonly [name: string, shape: Shape | ValueType]>): ParameterBlock {
  const all = [...shapes].map(([name, shape]) => [name, 'dtype' in shape ? shape.shape : shape] as const);
  const flat = new Float32Array(all.reduce((sum, [, shape]) => sum + elementCount(shape), 0));
  let offset = 0;
  const tensors = new Map(all.map(([name, shape]) => [name, wrap('float32', shape, flat.subarray(offset, offset += elementCount(shape)))]));
  return { flat, tensors };
}
