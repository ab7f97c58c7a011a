import { broadcastShapes, normalizeAxis, requireSameDType, sameShape, shapeError, type Many, type One, type Operator, type Three, type Two } from '../operator.ts';
import type { OnnxEmitter } from '../onnx/emitter.ts';
import { elementCount, type Shape, type ValueType } from '../tensor.ts';

type ReshapeAttrs = { shape: Shape; inferred: number };

/** `inferred`: the axis whose size follows from the others, -1 for none. ONNX gets it, and leading axes that stay, without their sizes: the node then fits any. */
export const reshape: Operator<ReshapeAttrs, One> = {
  name: 'reshape',
  infer([x], { shape }) {
    if (shape.some((d) => !Number.isInteger(d) || d < 0) || elementCount(shape) !== elementCount(x.shape)) {
      throw shapeError('reshape', `cannot become [${shape.join(',')}]`, [x]);
    }
    return [{ dtype: x.dtype, shape }];
  },
  vjp: { apply: (b, { grad, inputs: [x] }) => [b.reshape(grad, x.shape)] },
  onnx(e, { inputs: [x], types: [type], attrs: { shape, inferred } }) {
    const kept = shape.findIndex((d, i) => d !== type.shape[i]);
    return [e.emit('Reshape', [x, e.ints(shape.map((d, i) => (i === inferred ? -1 : kept === -1 || i < kept ? 0 : d)))])];
  },
  tensorflow: (tf, { inputs: [x], attrs }) => [tf.reshape(x, [...attrs.shape])],
};

/** Rows [B·S, W] as [B, S, W], where `like` is [B, S]: a reshape whose sizes are read from another value when the graph runs. */
export const unflatten: Operator<Record<string, never>, Two> = {
  name: 'unflatten',
  infer([rows, like]) {
    const [count = 0, width = 0] = rows.shape;
    if (rows.shape.length !== 2 || like.shape.length !== 2 || elementCount(like.shape) !== count) {
      throw shapeError('unflatten', 'needs rows [B·S,W] and like [B,S]', [rows, like]);
    }
    return [{ dtype: rows.dtype, shape: [...like.shape, width] }];
  },
  vjp: { apply: (b, { grad, inputs: [rows] }) => [b.reshape(grad, rows.shape), undefined] },
  onnx(e, { inputs: [rows, like], types: [{ shape: [, width = 0] }, { shape }] }) {
    const sizes = e.profile.anySize ? e.emit('Concat', [e.emit('Shape', [like]), e.ints([width])], { axis: 0 }) : e.ints([...shape, width]);
    return [e.emit('Reshape', [rows, sizes])];
  },
  tensorflow: (tf, { inputs: [rows], outputs: [type] }) => [tf.reshape(rows, [...type?.shape ?? []])],
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

/** x [..., P+S] cut into [..., P] and [..., S], the last axes of `first` and `second`. */
export const splitLike: Operator<Record<string, never>, Three> = {
  name: 'splitLike',
  infer([x, first, second]) {
    const [p = 0, s = 0] = [first.shape.at(-1), second.shape.at(-1)];
    if (x.shape.at(-1) !== p + s) throw shapeError('splitLike', 'the last axes of the others do not add up to that of the first', [x, first, second]);
    return [p, s].map((size) => ({ dtype: x.dtype, shape: [...x.shape.slice(0, -1), size] }));
  },
  vjp: { apply: (b, { grads }) => [b.concat(grads, -1), undefined, undefined] },
  onnx(e, { inputs: [x, first, second], types: [, firstType, secondType], outputs }) {
    const axis = (outputs[0]?.shape.length ?? 1) - 1;
    const [p = 0, s = 0] = [firstType.shape.at(-1), secondType.shape.at(-1)];
    if (!e.profile.split) return [emitSlice(e, x, axis, 0, p), emitSlice(e, x, axis, p, p + s)];
    const last = (value: string) => e.emit('Shape', [value], { start: -1 });
    return e.emitMany('Split', [x, e.profile.anySize ? e.emit('Concat', [last(first), last(second)], { axis: 0 }) : e.ints([p, s])], 2, { axis });
  },
  tensorflow: (tf, { inputs: [x], outputs }) => tf.split(x, outputs.map(({ shape }) => shape.at(-1) ?? 0), -1),
};

function emitSlice(e: OnnxEmitter, x: string, axis: number, start: number, end: number): string {
  return e.emit('Slice', [x, e.ints([start]), e.ints([end]), e.ints([axis])]);
}
