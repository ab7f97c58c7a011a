import { normalizeAxis, shapeError, type One, type Operator } from '../operator.ts';
import type { BackwardCall } from '../operator.ts';
import type { GraphBuilder, Value } from '../graph.ts';
import { elementCount, isFloat, type ValueType } from '../tensor.ts';
import type { TensorFlow, TfTensor } from '../tensorflow/types.ts';

type ReduceAttrs = { axes: readonly number[]; keepdims: boolean };
type ReduceCall = BackwardCall<ReduceAttrs, One>;

type Reduce = (tf: TensorFlow, x: TfTensor, axes: number[], keepdims: boolean) => TfTensor;

function reduction(name: string, onnx: string, tensorflow: Reduce, derivative: (b: GraphBuilder, grad: Value, c: ReduceCall) => Value): Operator<ReduceAttrs, One> {
  return {
    name,
    infer([x], { axes, keepdims }) {
      if (!isFloat(x.dtype)) throw shapeError(name, 'needs a floating-point operand', [x]);
      const kept = keptShape(name, x, axes);
      return [{ dtype: x.dtype, shape: keepdims ? kept : kept.filter((_, i) => !reduces(name, x, axes, i)) }];
    },
    vjp: { apply: (b, c) => [derivative(b, b.reshape(c.grad, keptShape(name, c.inputs[0], c.attrs.axes)), c)] },
    onnx: (e, { inputs: [x], attrs }) => [e.emit(onnx, [x, e.ints(attrs.axes)], { keepdims: Number(attrs.keepdims) })],
    tensorflow: (tf, { inputs: [x], attrs }) => [tensorflow(tf, x, [...attrs.axes], attrs.keepdims)],
  };
}

export const reduceSum = reduction('reduceSum', 'ReduceSum', (tf, x, axes, keep) => tf.sum(x, axes, keep), (b, grad, { inputs: [x] }) => b.expand(grad, x.shape));

export const reduceMean = reduction('reduceMean', 'ReduceMean', (tf, x, axes, keep) => tf.mean(x, axes, keep), (b, grad, { inputs: [x], output }) =>
  b.expand(b.mul(grad, elementCount(output.shape) / elementCount(x.shape)), x.shape));

export const reduceMax = reduction('reduceMax', 'ReduceMax', (tf, x, axes, keep) => tf.max(x, axes, keep), (b, grad, { inputs: [x], output, attrs: { axes } }) => {
  const isMax = b.cast(b.equal(x, b.reshape(output, keptShape('reduceMax', x, axes))), x.dtype);
  return b.mul(isMax, b.div(grad, b.reduceSum(isMax, axes, true)));
});

function reduces(name: string, x: ValueType, axes: readonly number[], axis: number): boolean {
  return axes.some((a) => normalizeAxis(name, a, x) === axis);
}

function keptShape(name: string, x: ValueType, axes: readonly number[]): number[] {
  const kept = [...x.shape];
  for (const axis of axes) kept[normalizeAxis(name, axis, x)] = 1;
  return kept;
}
