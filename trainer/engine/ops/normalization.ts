import { requireFloat, requireSameDType, shapeError, type Of, type One, type Operator, type Two } from '../operator.ts';
import type { Value } from '../graph.ts';
import type { OnnxEmitter } from '../onnx/emitter.ts';
import type { ValueType } from '../tensor.ts';

type None = Record<string, never>;

/** softmax over the last axis. VJP: y · (g − Σ g·y). */
export const softmax: Operator<None, One> = {
  name: 'softmax',
  infer: inferLastAxis('softmax'),
  vjp: {
    apply(b, { grad, output: y }) {
      return [b.mul(y, b.sub(grad, b.reduceSum(b.mul(grad, y), [-1], true)))];
    },
  },
  onnx: (e, { inputs }) => [e.emit('Softmax', inputs, { axis: -1 })],
  tensorflow: (tf, { inputs: [x] }) => [tf.softmax(x)],
};

/** VJP: g − softmax · Σ g. */
export const logSoftmax: Operator<None, One> = {
  name: 'logSoftmax',
  infer: inferLastAxis('logSoftmax'),
  vjp: {
    apply(b, { grad, output }) {
      return [b.sub(grad, b.mul(b.exp(output), b.reduceSum(grad, [-1], true)))];
    },
  },
  onnx(e, { inputs: [x] }) {
    if (e.profile.logSoftmax) return [e.emit('LogSoftmax', [x], { axis: -1 })];
    const { shifted, logSum } = shiftedLogSum(e, x);
    return [e.emit('Sub', [shifted, logSum])];
  },
  tensorflow: (tf, { inputs: [x] }) => [tf.logSoftmax(x)],
};

/** max + log Σ exp(x − max), last axis kept as 1. VJP: g · softmax(x). */
export const logSumExp: Operator<None, One> = {
  name: 'logSumExp',
  infer(types) {
    const [x] = inferLastAxis('logSumExp')(types);
    return [{ dtype: x.dtype, shape: [...x.shape.slice(0, -1), 1] }];
  },
  vjp: { apply: (b, { grad, inputs: [x], output }) => [b.mul(grad, b.exp(b.sub(x, output)))] },
  onnx(e, { inputs: [x] }) {
    const { max, logSum } = shiftedLogSum(e, x);
    return [e.emit('Add', [max, logSum])];
  },
  tensorflow: (tf, { inputs: [x] }) => [tf.logSumExp(x, -1, true)],
};

/**
 * y = x · r · w with r = 1 / sqrt(mean(x²) + eps) over the last axis; second output r, for the backward pass alone.
 * With x̂ = x·r and h = g·w:  dx = r · (h − x̂ · mean(h·x̂)),  dw = Σ g·x̂.
 */
export const rmsNorm: Operator<{ eps: number }, Two> = {
  name: 'rmsNorm',
  infer([x, weight]) {
    requireFloat('rmsNorm', [x, weight]);
    requireSameDType('rmsNorm', [x, weight]);
    if (weight.shape.length !== 1 || weight.shape[0] !== x.shape.at(-1)) {
      throw shapeError('rmsNorm', 'the weight must be [D] where D is the last axis of x', [x, weight]);
    }
    return [x, { dtype: x.dtype, shape: [...x.shape.slice(0, -1), 1] }];
  },
  vjp: {
    apply(b, { grad, inputs: [x, weight], outputs }) {
      const r = outputs[1] as Value;
      const normalized = b.mul(x, r);
      const h = b.mul(grad, weight);
      const correction = b.mul(normalized, b.reduceMean(b.mul(h, normalized), [-1], true));
      return [b.mul(r, b.sub(h, correction)), b.sumTo(b.mul(grad, normalized), weight.shape)];
    },
  },
  onnx(e, { inputs: [x, weight], types: [type], attrs: { eps } }) {
    if (e.profile.fusedRmsNorm && type.dtype === 'float32') {
      const attrs = { axis: -1, epsilon: { float: eps } };
      return e.emitMany('SimplifiedLayerNormalization', [x, weight], 2, attrs);
    }
    const square = e.emit('ReduceMean', [e.emit('Mul', [x, x]), e.ints([-1])], { keepdims: 1 });
    const root = e.emit('Sqrt', [e.emit('Add', [square, e.scalar(eps, type.dtype)])]);
    const r = e.emit('Div', [e.scalar(1, type.dtype), root]);
    return [e.emit('Mul', [e.emit('Mul', [x, r]), weight]), r];
  },
  tensorflow(tf, { inputs: [x, weight], attrs: { eps } }) {
    const r = tf.rsqrt(tf.add(tf.mean(tf.square(x), -1, true), eps));
    return [tf.mul(tf.mul(x, r), weight), r];
  },
};

function inferLastAxis(name: string) {
  return (types: Of<One, ValueType>): Of<One, ValueType> => {
    requireFloat(name, types);
    if (types[0].shape.length < 1) throw shapeError(name, 'needs at least one axis', types);
    return [types[0]];
  };
}

function shiftedLogSum(e: OnnxEmitter, x: string) {
  const max = e.emit('ReduceMax', [x, e.ints([-1])], { keepdims: 1 });
  const shifted = e.emit('Sub', [x, max]);
  const sum = e.emit('ReduceSum', [e.emit('Exp', [shifted]), e.ints([-1])], { keepdims: 1 });
  return { max, shifted, logSum: e.emit('Log', [sum]) };
}
