import { broadcastShapes, requireFloat, requireSameDType, shapeError, type One, type Operator, type Three, type Two } from '../operator.ts';
import type { BackwardCall } from '../operator.ts';
import type { GraphBuilder, Value } from '../graph.ts';
import { tfDType, type TensorFlow, type TfTensor } from '../tensorflow/types.ts';
import type { DType } from '../tensor.ts';

type None = Record<string, never>;

type UnaryFunction = (tf: TensorFlow, x: TfTensor) => TfTensor;

function unary(name: string, onnx: string, tensorflow: UnaryFunction, derivative: (b: GraphBuilder, c: BackwardCall<None, One>) => Value): Operator<None, One> {
  return {
    name,
    infer(types) {
      requireFloat(name, types);
      return [types[0]];
    },
    vjp: { apply: (b, c) => [derivative(b, c)] },
    onnx: (e, { inputs }) => [e.emit(onnx, inputs)],
    tensorflow: (tf, { inputs: [x] }) => [tensorflow(tf, x)],
  };
}

export const neg = unary('neg', 'Neg', (tf, x) => tf.neg(x), (b, { grad }) => b.neg(grad));
export const exp = unary('exp', 'Exp', (tf, x) => tf.exp(x), (b, { grad, output }) => b.mul(grad, output));
export const log = unary('log', 'Log', (tf, x) => tf.log(x), (b, { grad, inputs: [x] }) => b.div(grad, x));
export const sqrt = unary('sqrt', 'Sqrt', (tf, x) => tf.sqrt(x), (b, { grad, output }) => b.div(b.mul(grad, 0.5), output));
export const sigmoid = unary('sigmoid', 'Sigmoid', (tf, x) => tf.sigmoid(x), (b, { grad, output: y }) => b.mul(grad, b.mul(y, b.sub(1, y))));

export const tanh = unary('tanh', 'Tanh', (tf, x) => tf.tanh(x), (b, { grad, output: y }) => b.mul(grad, b.sub(1, b.square(y))));

/** x · s with s = sigmoid(x), which is the second output, for the backward pass alone: d = s + y − s·y. */
export const silu: Operator<None, One> = {
  name: 'silu',
  infer(types) {
    requireFloat('silu', types);
    return [types[0], types[0]];
  },
  vjp: {
    apply(b, { grad, outputs }) {
      const [y, s] = outputs as [Value, Value];
      return [b.mul(grad, b.sub(b.add(s, y), b.mul(s, y)))];
    },
  },
  onnx(e, { inputs: [x] }) {
    const s = e.emit('Sigmoid', [x]);
    return [e.emit('Mul', [x, s]), s];
  },
  tensorflow(tf, { inputs: [x] }) {
    const s = tf.sigmoid(x);
    return [tf.mul(x, s), s];
  },
};

const [gelu1, gelu3] = [2 * Math.sqrt(2 / Math.PI), 2 * Math.sqrt(2 / Math.PI) * 0.044715];

/**
 * The tanh form of GELU (Hendrycks & Gimpel 2016), ½·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))) = x · s with s = sigmoid(x·(a + c·x²)).
 * s is the second output, for the backward pass alone: d = s + y·(1 − s)·(a + 3c·x²).
 */
export const geluTanh: Operator<None, One> = {
  name: 'geluTanh',
  infer(types) {
    requireFloat('geluTanh', types);
    return [types[0], types[0]];
  },
  vjp: {
    apply(b, { grad, inputs: [x], outputs }) {
      const [y, s] = outputs as [Value, Value];
      const slope = b.add(b.mul(b.square(x), 3 * gelu3), gelu1);
      return [b.mul(grad, b.add(s, b.mul(b.mul(y, b.sub(1, s)), slope)))];
    },
  },
  onnx(e, { inputs: [x], types: [{ dtype }] }) {
    const inner = e.emit('Add', [e.emit('Mul', [e.emit('Mul', [x, x]), e.scalar(gelu3, dtype)]), e.scalar(gelu1, dtype)]);
    const s = e.emit('Sigmoid', [e.emit('Mul', [x, inner])]);
    return [e.emit('Mul', [x, s]), s];
  },
  tensorflow(tf, { inputs: [x] }) {
    const s = tf.sigmoid(tf.mul(x, tf.add(tf.mul(tf.square(x), gelu3), gelu1)));
    return [tf.mul(x, s), s];
  },
};

/** Passes the value, blocks the gradient. */
export const stopGradient: Operator<None, One> = {
  name: 'stopGradient',
  infer: ([x]) => [x],
  vjp: 'zero',
  onnx: (_e, { inputs: [x] }) => [x],
  tensorflow: (_tf, { inputs: [x] }) => [x],
};

/** The gradient is cast back; it does not pass through integers and booleans. */
export const cast: Operator<{ dtype: DType }, One> = {
  name: 'cast',
  infer: ([x], { dtype }) => [{ dtype, shape: x.shape }],
  vjp: { apply: (b, { grad, inputs: [x] }) => [b.cast(grad, x.dtype)] },
  onnx: (e, { inputs, attrs }) => [e.cast(inputs[0], attrs.dtype)],
  tensorflow: (tf, { inputs: [x], attrs }) => [tf.cast(x, tfDType('cast', attrs.dtype))],
};

type BinaryFunction = (tf: TensorFlow, x: TfTensor, y: TfTensor) => TfTensor;
type Derivative = (b: GraphBuilder, grad: Value, x: Value, y: Value) => readonly [Value, Value];

function binary(name: string, onnx: string, tensorflow: BinaryFunction, derivative: Derivative): Operator<None, Two> {
  return {
    name,
    infer([a, c]) {
      requireSameDType(name, [a, c]);
      if (a.dtype === 'bool') throw shapeError(name, 'needs numbers', [a, c]);
      return [{ dtype: a.dtype, shape: broadcastShapes(name, a, c) }];
    },
    vjp: {
      apply(b, { grad, inputs: [x, y] }) {
        const [dx, dy] = derivative(b, grad, x, y);
        return [b.sumTo(dx, x.shape), b.sumTo(dy, y.shape)];
      },
    },
    onnx: (e, { inputs }) => [e.emit(onnx, inputs)],
    tensorflow: (tf, { inputs: [x, y] }) => [tensorflow(tf, x, y)],
  };
}

export const add = binary('add', 'Add', (tf, x, y) => tf.add(x, y), (_b, g) => [g, g]);
export const sub = binary('sub', 'Sub', (tf, x, y) => tf.sub(x, y), (b, g) => [g, b.neg(g)]);
export const mul = binary('mul', 'Mul', (tf, x, y) => tf.mul(x, y), (b, g, x, y) => [b.mul(g, y), b.mul(g, x)]);
export const div = binary('div', 'Div', divide, (b, g, x, y) => {
  const dx = b.div(g, y);
  return [dx, b.neg(b.mul(dx, b.div(x, y)))];
});
/** Of integers towards zero, as ONNX has it; TensorFlow.js rounds down. */
function divide(tf: TensorFlow, x: TfTensor, y: TfTensor): TfTensor {
  if (x.dtype !== 'int32') return tf.div(x, y);
  return tf.mul(tf.mul(tf.sign(x), tf.sign(y)), tf.floorDiv(tf.abs(x), tf.abs(y)));
}

export const minimum = binary('minimum', 'Min', (tf, x, y) => tf.minimum(x, y), (b, g, x, y) => choose(b, b.lessOrEqual(x, y), g));
export const maximum = binary('maximum', 'Max', (tf, x, y) => tf.maximum(x, y), (b, g, x, y) => choose(b, b.lessOrEqual(y, x), g));

function choose(b: GraphBuilder, first: Value, grad: Value): readonly [Value, Value] {
  return [b.where(first, grad, 0), b.where(first, 0, grad)];
}

function comparison(name: string, onnx: string, tensorflow: BinaryFunction): Operator<None, Two> {
  return {
    name,
    infer([a, c]) {
      requireSameDType(name, [a, c]);
      return [{ dtype: 'bool', shape: broadcastShapes(name, a, c) }];
    },
    vjp: 'zero',
    onnx: (e, { inputs }) => [e.emit(onnx, inputs)],
    tensorflow: (tf, { inputs: [x, y] }) => [tensorflow(tf, x, y)],
  };
}

export const equal = comparison('equal', 'Equal', (tf, x, y) => tf.equal(x, y));
export const less = comparison('less', 'Less', (tf, x, y) => tf.less(x, y));
export const lessOrEqual = comparison('lessOrEqual', 'LessOrEqual', (tf, x, y) => tf.lessEqual(x, y));

/** condition ? x : y, all three broadcast. The unchosen side gets gradient 0, also where its value is not finite. */
export const where: Operator<None, Three> = {
  name: 'where',
  infer([condition, x, y]) {
    if (condition.dtype !== 'bool') throw shapeError('where', 'the condition must be bool', [condition, x, y]);
    requireSameDType('where', [x, y]);
    const chosen = { dtype: x.dtype, shape: broadcastShapes('where', x, y) };
    return [{ dtype: x.dtype, shape: broadcastShapes('where', condition, chosen) }];
  },
  vjp: {
    apply(b, { grad, inputs: [condition, x, y] }) {
      const [dx, dy] = choose(b, condition, grad);
      return [undefined, b.sumTo(dx, x.shape), b.sumTo(dy, y.shape)];
    },
  },
  onnx: (e, { inputs }) => [e.emit('Where', inputs)],
  tensorflow: (tf, { inputs: [condition, x, y] }) => [tf.where(condition, x, y)],
};
