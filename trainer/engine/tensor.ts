import { TrainerError } from '../protocol/errors.ts';

/**
 * Element types of the engine. float64 exists on the CPU provider only (the tests use it for sharp gradient checks). float16 (as its bits) and uint8 are
 * what matrices are kept in, nothing is computed with them.
 */
export type DType = 'float32' | 'float64' | 'float16' | 'int32' | 'int64' | 'uint8' | 'bool';
export type Shape = readonly number[];

/** In the type of an executable's input or output: a size that is known only when it runs. */
export const anyDim = -1;

export interface ValueType {
  readonly dtype: DType;
  readonly shape: Shape;
}

export interface TensorData {
  float32: Float32Array;
  float64: Float64Array;
  float16: Uint16Array;
  int32: Int32Array;
  int64: BigInt64Array;
  uint8: Uint8Array;
  bool: Uint8Array;
}

/** A dense row-major array. Plain data: can be posted to a worker, its `data.buffer` transferred. */
export interface Tensor<D extends DType = DType> {
  readonly dtype: D;
  readonly shape: Shape;
  readonly data: TensorData[D];
}

const arrays = {
  float32: Float32Array,
  float64: Float64Array,
  float16: Uint16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  bool: Uint8Array,
} as const;

export function elementCount(shape: Shape): number {
  return shape.reduce((product, dim) => product * dim, 1);
}

export function isFloat(dtype: DType): boolean {
  return dtype === 'float32' || dtype === 'float64';
}

/** "float32[2,3]", as used in error messages. */
export function describe(type: ValueType): string {
  return `${type.dtype}[${type.shape.join(',')}]`;
}

/** A tensor of zeros. */
export function zeros<D extends DType>(dtype: D, shape: Shape): Tensor<D> {
  const data = new arrays[dtype](elementCount(shape)) as TensorData[D];
  return { dtype, shape: [...shape], data };
}

/** A tensor holding `values` (row-major). Throws `internal` when their number does not fit the shape. */
export function tensor<D extends DType>(dtype: D, shape: Shape, values: ArrayLike<number>): Tensor<D> {
  const result = zeros(dtype, shape);
  if (values.length !== elementCount(shape)) {
    throw new TrainerError('internal', `${values.length} values cannot fill a tensor of type ${describe(result)}`);
  }
  if (dtype === 'int64') (result.data as BigInt64Array).set(Array.from(values, (v) => BigInt(v)));
  else (result.data as Float32Array).set(values);
  return result;
}

/** A tensor over existing memory, without a copy. Throws `internal` on a wrong array class or length. */
export function wrap<D extends DType>(dtype: D, shape: Shape, data: TensorData[D]): Tensor<D> {
  const type = { dtype, shape };
  if (!(data instanceof arrays[dtype])) {
    throw new TrainerError('internal', `${describe(type)} needs a ${arrays[dtype].name}, got ${data.constructor.name}`);
  }
  if (data.length !== elementCount(shape)) {
    throw new TrainerError('internal', `${data.length} values cannot fill a tensor of type ${describe(type)}`);
  }
  return { dtype, shape: [...shape], data };
}

export function float32(shape: Shape, values: ArrayLike<number>): Tensor<'float32'> {
  return tensor('float32', shape, values);
}

export function int32(shape: Shape, values: ArrayLike<number>): Tensor<'int32'> {
  return tensor('int32', shape, values);
}
