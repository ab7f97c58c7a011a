import { broadcastShapes, normalizeAxis, requireSameDType, sameShape, shapeError, type Many, type One, type Operator } from '../operator.ts';
import type { OnnxEmitter } from '../onnx/emitter.ts';
import { elementCount, type Shape, type ValueType } from '../tensor.ts';

export const reshape: Operator<{ shape: Shape }, One> = {
  name: 'reshape',
  infer([x], { shape }) {
    if (shape.some((d) => !Number.isInteger(d) || d < 0) || elementCount(shape) !== elementCount(x.shape)) {
      throw shapeError('reshape', `cannot become [${shape.join(',')}]`, [x]);
    }
    return [{ dtype: x.dtype, shape }];
  },
  vjp: { apply: (b, { grad, inputs: [x] }) => [b.reshape(grad, x.shape)] },
  onnx: (e, { inputs: [x], attrs }) => [e.emit('Reshape', [x, e.ints(attrs.shape)])],
  tensorflow: (tf, { inputs: [x], attrs }) => [tf.reshape(x, [...attrs.shape])],
};

export const transpose: Operator<{ perm: readonly number[] }, One> = {
  name: 'transpose',
  infer([x], { perm }) {
    if (!sameShape([...perm].sort((i, j) => i - j), x.shape.map((_, i) => i))) {
      throw shapeError('transpose', `[${perm.join(',')}] is not an order of the axes`, [x]);
    }
    return [{ dtype: x.dtype, shape: perm.map((p) => x.shape[p] ?? 1) }];
  },
  vjp: {
    apply(b, { grad, attrs: { perm } }) {
      return [b.transpose(grad, perm.map((_, i) => perm.indexOf(i)))];
    },
  },
  onnx: (e, { inputs, attrs }) => [e.emit('Transpose', inputs, { perm: attrs.perm })],
  tensorflow: (tf, { inputs: [x], attrs }) => [tf.transpose(x, [...attrs.perm])],
};

export const expand: Operator<{ shape: Shape }, One> = {
  name: 'expand',
  infer([x], { shape }) {
    if (!sameShape(broadcastShapes('expand', x, { dtype: x.dtype, shape }), shape)) {
      throw shapeError('expand', `cannot become [${shape.join(',')}]`, [x]);
    }
    return [{ dtype: x.dtype, shape }];
  },
  vjp: { apply: (b, { grad, inputs: [x] }) => [b.sumTo(grad, x.shape)] },
  onnx: (e, { inputs: [x], attrs }) => [e.emit('Expand', [x, e.ints(attrs.shape)])],
  tensorflow: (tf, { inputs: [x], attrs }) => [tf.broadcastTo(x, [...attrs.shape])],
};

type SliceAttrs = { axis: number; start: number; end: number };

export const slice: Operator<SliceAttrs, One> = {
  name: 'slice',
  infer([x], { axis, start, end }) {
    const a = normalizeAxis('slice', axis, x);
    const size = x.shape[a] ?? 0;
    if (!Number.isInteger(start) || !Number.isInteger(end) || start < 0 || end > size || start >= end) {
      throw shapeError('slice', `[${start}, ${end}) of axis ${axis} is outside 0..${size}`, [x]);
    }
    return [{ dtype: x.dtype, shape: x.shape.map((d, i) => (i === a ? end - start : d)) }];
  },
  vjp: {
    apply(b, { grad, inputs: [x], attrs: { axis, start, end } }) {
      const a = normalizeAxis('slice', axis, x);
      const zeros = (count: number) => b.zeros({ dtype: x.dtype, shape: x.shape.map((d, i) => (i === a ? count : d)) });
      const after = (x.shape[a] ?? 0) - end;
      const parts = [start > 0 ? zeros(start) : undefined, grad, after > 0 ? zeros(after) : undefined];
      return [b.concat(parts.filter((p) => p !== undefined), a)];
    },
  },
  onnx: (e, { inputs: [x], attrs: { axis, start, end } }) => [emitSlice(e, x, axis, start, end)],
  tensorflow(tf, { inputs: [x], types: [type], outputs: [output], attrs: { axis, start } }) {
    const a = normalizeAxis('slice', axis, type);
    return [tf.slice(x, type.shape.map((_, i) => (i === a ? start : 0)), [...(output as ValueType).shape])];
  },
};

export const concat: Operator<{ axis: number }, Many> = {
  name: 'concat',
  infer(types, { axis }) {
    const [first] = types;
    if (!first) throw shapeError('concat', 'needs at least one operand', types);
    requireSameDType('concat', types);
    const a = normalizeAxis('concat', axis, first);
    const others = (t: ValueType) => t.shape.filter((_, i) => i !== a);
    if (types.some((t) => !sameShape(others(t), others(first)))) throw shapeError('concat', `shapes differ outside axis ${axis}`, types);
    const size = types.reduce((sum, t) => sum + (t.shape[a] ?? 0), 0);
    return [{ dtype: first.dtype, shape: first.shape.map((d, i) => (i === a ? size : d)) }];
  },
  vjp: {
    apply(b, { grad, inputs, attrs: { axis } }) {
      const a = normalizeAxis('concat', axis, grad);
      return inputs.length === 1 ? [grad] : b.split(grad, a, inputs.map((x) => x.shape[a] ?? 0));
    },
  },
  onnx: (e, { inputs, attrs }) => [inputs.length === 1 ? (inputs[0] as string) : e.emit('Concat', inputs, { axis: attrs.axis })],
  tensorflow: (tf, { inputs, attrs }) => [tf.concat([...inputs], attrs.axis)],
};

type SplitAttrs = { axis: number; sizes: readonly number[] };

export const split: Operator<SplitAttrs, One> = {
  name: 'split',
  infer([x], { axis, sizes }) {
    const a = normalizeAxis('split', axis, x);
    if (sizes.some((s) => s <= 0) || sizes.reduce((sum, s) => sum + s, 0) !== x.shape[a]) {
      throw shapeError('split', `parts [${sizes.join(',')}] do not add up to axis ${axis}`, [x]);
    }
    return sizes.map((size) => ({ dtype: x.dtype, shape: x.shape.map((d, i) => (i === a ? size : d)) }));
  },
  vjp: { apply: (b, { grads, attrs: { axis } }) => [b.concat(grads, axis)] },
  onnx(e, { inputs: [x], attrs: { axis, sizes } }) {
    if (e.profile.split) return e.emitMany('Split', [x, e.ints(sizes)], sizes.length, { axis });
    let start = 0;
    return sizes.map((size) => emitSlice(e, x, axis, start, (start += size)));
  },
  tensorflow: (tf, { inputs: [x], attrs: { axis, sizes } }) => tf.split(x, [...sizes], axis),
};

function emitSlice(e: OnnxEmitter, x: string, axis: number, start: number, end: number): string {
  return e.emit('Slice', [x, e.ints([start]), e.ints([end]), e.ints([axis])]);
}
