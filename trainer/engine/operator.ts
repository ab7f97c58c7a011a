import { TrainerError } from '../protocol/errors.ts';
import type { GraphBuilder, Value } from './graph.ts';
import type { OnnxEmitter } from './onnx/emitter.ts';
import type { TensorFlow, TfTensor } from './tensorflow/types.ts';
import { describe, isFloat, type Shape, type ValueType } from './tensor.ts';

export type Attr = number | boolean | string | readonly number[];
export type Attrs = Readonly<Record<string, Attr>>;

/** Number of inputs, as a tuple type: `One`, `Two`, `Three`, or `Many` when it varies. */
export type One = readonly [0];
export type Two = readonly [0, 0];
export type Three = readonly [0, 0, 0];
export type Many = readonly 0[];
export type Of<N extends Many, T> = { readonly [K in keyof N]: T };

export interface BackwardCall<A, N extends Many> {
  readonly inputs: Of<N, Value>;
  readonly attrs: A;
  /** First output and its gradient. */
  readonly output: Value;
  readonly grad: Value;
  /** All outputs, and one gradient for each (zeros where none arrived). */
  readonly outputs: readonly Value[];
  readonly grads: readonly Value[];
}

export interface LoweringCall<A, N extends Many> {
  readonly inputs: Of<N, string>;
  readonly types: Of<N, ValueType>;
  readonly outputs: readonly ValueType[];
  readonly attrs: A;
}

/** One call with its operands at hand. What a lowering makes on the way is disposed of after it. */
export interface EagerCall<A, N extends Many> {
  readonly inputs: Of<N, TfTensor>;
  readonly types: Of<N, ValueType>;
  readonly outputs: readonly ValueType[];
  readonly attrs: A;
}

/**
 * One operator of the IR: shape rule, vector-Jacobian product, and one lowering for each executor.
 * `vjp` returns a gradient per input (undefined: none flows). 'zero' says the derivative is zero by definition.
 */
export interface Operator<A extends Attrs = Attrs, N extends Many = Many> {
  readonly name: string;
  infer(types: Of<N, ValueType>, attrs: A): readonly ValueType[];
  readonly vjp: 'zero' | { apply(b: GraphBuilder, call: BackwardCall<A, N>): readonly (Value | undefined)[] };
  onnx(e: OnnxEmitter, call: LoweringCall<A, N>): readonly string[];
  /** Computes the outputs with TensorFlow.js; int64 is int32 there. */
  tensorflow(tf: TensorFlow, call: EagerCall<A, N>): readonly TfTensor[];
}

/** Every shape rule reports through this: the operator, what is wrong, and all operand types. */
export function shapeError(op: string, problem: string, types: readonly ValueType[]): TrainerError {
  return new TrainerError('internal', `${op}: ${problem}; operands are ${types.map(describe).join(', ')}`);
}

/** The shape two operands broadcast to (NumPy rule). */
export function broadcastShapes(op: string, a: ValueType, b: ValueType): Shape {
  const rank = Math.max(a.shape.length, b.shape.length);
  const dim = (shape: Shape, i: number) => shape[i - (rank - shape.length)] ?? 1;
  return Array.from({ length: rank }, (_, i) => {
    const [x, y] = [dim(a.shape, i), dim(b.shape, i)];
    if (x !== y && x !== 1 && y !== 1) throw shapeError(op, 'shapes do not broadcast', [a, b]);
    return x === 1 ? y : x;
  });
}

export function requireFloat(op: string, types: readonly ValueType[]): void {
  if (types.some((t) => !isFloat(t.dtype))) throw shapeError(op, 'needs floating-point operands', types);
}

export function requireSameDType(op: string, types: readonly ValueType[]): void {
  if (types.some((t) => t.dtype !== types[0]?.dtype)) throw shapeError(op, 'operands have different dtypes', types);
}

export function requireIndex(op: string, index: ValueType, types: readonly ValueType[]): void {
  if (index.dtype !== 'int32' && index.dtype !== 'int64') throw shapeError(op, 'indices must be int32 or int64', types);
}

/** Axis counted from the end when negative; throws when outside the rank. */
export function normalizeAxis(op: string, axis: number, type: ValueType): number {
  const result = axis < 0 ? axis + type.shape.length : axis;
  if (!Number.isInteger(axis) || result < 0 || result >= type.shape.length) throw shapeError(op, `axis ${axis} does not exist`, [type]);
  return result;
}

export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((dim, i) => dim === b[i]);
}
