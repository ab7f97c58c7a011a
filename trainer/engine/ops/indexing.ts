import { requireIndex, requireSameDType, sameShape, shapeError, type Operator, type Three, type Two } from '../operator.ts';
import { elementCount, isFloat, type Shape } from '../tensor.ts';
import type { TensorFlow, TfTensor } from '../tensorflow/types.ts';

type None = Record<string, never>;

/** table [V, ...rest], rows [...i] -> [...i, ...rest]. An index outside 0..V-1 fails the run. */
export const gather: Operator<None, Two> = {
  name: 'gather',
  infer([table, rows]) {
    requireIndex('gather', rows, [table, rows]);
    if (table.shape.length < 1) throw shapeError('gather', 'the table needs at least one axis', [table, rows]);
    return [{ dtype: table.dtype, shape: [...rows.shape, ...table.shape.slice(1)] }];
  },
  vjp: {
    apply(b, { grad, inputs: [table, rows] }) {
      const [v = 1, ...rest] = table.shape;
      const flat = { dtype: table.dtype, shape: [v, elementCount(rest)] };
      const updates = b.reshape(grad, [elementCount(rows.shape), elementCount(rest)]);
      return [b.reshape(b.scatterAddRows(b.zeros(flat), b.reshape(rows, [-1]), updates), table.shape), undefined];
    },
  },
  onnx: (e, { inputs }) => [e.emit('Gather', inputs, { axis: 0 })],
  tensorflow: (tf, { inputs: [table, rows] }) => [tf.gather(table, rows)],
};

export const gatherElements: Operator<None, Two> = {
  name: 'gatherElements',
  infer([x, index]) {
    requireIndex('gatherElements', index, [x, index]);
    if (x.shape.length < 1 || !sameShape(x.shape.slice(0, -1), index.shape.slice(0, -1)) || x.shape.length !== index.shape.length) {
      throw shapeError('gatherElements', 'index must have the shape of x up to the last axis', [x, index]);
    }
    return [{ dtype: x.dtype, shape: index.shape }];
  },
  vjp: { apply: (b, { grad, inputs: [x, index] }) => [b.scatterAddElements(b.zeros(x), index, grad), undefined] },
  onnx: (e, { inputs }) => [e.emit('GatherElements', inputs, { axis: -1 })],
  tensorflow: (tf, { inputs: [x, index], types: [{ shape }] }) => [tf.gather(tf.reshape(x, [-1]), flatIndex(tf, index, shape))],
};

export const scatterAddRows: Operator<None, Three> = {
  name: 'scatterAddRows',
  infer([base, rows, updates]) {
    const types = [base, rows, updates];
    requireIndex('scatterAddRows', rows, types);
    requireSameDType('scatterAddRows', [base, updates]);
    if (!isFloat(base.dtype)) throw shapeError('scatterAddRows', 'base must be floating-point', types);
    const fits = base.shape.length === 2 && rows.shape.length === 1 && sameShape(updates.shape, [rows.shape[0] ?? 0, base.shape[1] ?? 0]);
    if (!fits) throw shapeError('scatterAddRows', 'needs base [V,D], rows [n], updates [n,D]', types);
    return [base];
  },
  vjp: { apply: (b, { grad, inputs: [, rows] }) => [grad, undefined, b.gather(grad, rows)] },
  onnx(e, { inputs: [base, rows, updates], types: [, rowsType, updatesType] }) {
    const column = e.emit('Reshape', [rows, e.ints([elementCount(rowsType.shape), 1])]);
    // Not ScatterND: on the CPU it adds rows from several threads in no fixed order, so sums differ in the last bits from run to run.
    const full = e.emit('Expand', [column, e.ints(updatesType.shape)]);
    return [e.emit('ScatterElements', [base, full, updates], { axis: 0, reduction: 'add' })];
  },
  tensorflow: (tf, { inputs: [base, rows, updates] }) => [tf.add(base, tf.scatterND(tf.reshape(rows, [-1, 1]), updates, base.shape))],
};

export const scatterAddElements: Operator<None, Three> = {
  name: 'scatterAddElements',
  infer([base, index, updates]) {
    const types = [base, index, updates];
    requireIndex('scatterAddElements', index, types);
    requireSameDType('scatterAddElements', [base, updates]);
    const fits = sameShape(index.shape, updates.shape) && index.shape.length === base.shape.length
      && sameShape(index.shape.slice(0, -1), base.shape.slice(0, -1));
    if (!fits || !isFloat(base.dtype)) {
      throw shapeError('scatterAddElements', 'index and updates must have the shape of the floating-point base up to the last axis', types);
    }
    return [base];
  },
  vjp: { apply: (b, { grad, inputs: [, index] }) => [grad, undefined, b.gatherElements(grad, index)] },
  onnx: (e, { inputs }) => [e.emit('ScatterElements', inputs, { axis: -1, reduction: 'add' })],
  tensorflow(tf, { inputs: [base, index, updates], types: [{ shape }] }) {
    const positions = tf.reshape(flatIndex(tf, index, shape), [-1, 1]);
    return [tf.add(base, tf.reshape(tf.scatterND(positions, tf.reshape(updates, [-1]), [base.size]), base.shape))];
  },
};

/** Positions in the row-major elements of a tensor [..., N] of indices [..., K] into its last axis. */
function flatIndex(tf: TensorFlow, index: TfTensor, shape: Shape): TfTensor {
  const width = shape.at(-1) ?? 1;
  const rows = elementCount(shape.slice(0, -1));
  const starts = tf.reshape(tf.mul(tf.range(0, rows, 1, 'int32'), tf.scalar(width, 'int32')), [...index.shape.slice(0, -1), 1]);
  return tf.add(index, starts);
}
