import { broadcastShapes, requireFloat, requireSameDType, sameShape, shapeError, type Operator, type Three, type Two } from '../operator.ts';
import type { OnnxEmitter } from '../onnx/emitter.ts';
import type { TfTensor } from '../tensorflow/types.ts';
import type { ValueType } from '../tensor.ts';

export interface MatmulOptions {
  transA?: boolean;
  transB?: boolean;
  alpha?: number;
}

type MatmulAttrs = { transA: boolean; transB: boolean; alpha: number };

/** alpha · op(A) · op(B); the products of the VJP follow from d(AB) = dA·B + A·dB with the flags moved along. */
export const matmul: Operator<MatmulAttrs, Two> = {
  name: 'matmul',
  infer([a, b], { transA, transB }) {
    requireFloat('matmul', [a, b]);
    requireSameDType('matmul', [a, b]);
    if (a.shape.length < 2 || b.shape.length < 2) throw shapeError('matmul', 'both operands need at least two axes', [a, b]);
    const [m, k] = lastTwo(a, transA);
    const [kb, n] = lastTwo(b, transB);
    if (k !== kb) {
      throw shapeError('matmul', `inner dimensions differ (${k} and ${kb}, transA ${transA}, transB ${transB})`, [a, b]);
    }
    const lead = (t: ValueType) => ({ dtype: t.dtype, shape: t.shape.slice(0, -2) });
    return [{ dtype: a.dtype, shape: [...broadcastShapes('matmul', lead(a), lead(b)), m, n] }];
  },
  vjp: {
    apply(g, { grad, inputs: [a, b], attrs: { transA, transB, alpha } }) {
      const da = transA
        ? g.matmul(b, grad, { transA: transB, transB: true, alpha })
        : g.matmul(grad, b, { transB: !transB, alpha });
      const db = transB
        ? g.matmul(grad, a, { transA: true, transB: transA, alpha })
        : g.matmul(a, grad, { transA: !transA, alpha });
      return [g.sumTo(da, a.shape), g.sumTo(db, b.shape)];
    },
  },
  onnx(e, { inputs: [a, b], types, attrs: { transA, transB, alpha } }) {
    if (!transA && !transB && alpha === 1) return [e.emit('MatMul', [a, b])];
    if (e.profile.fusedMatMul && types[0].dtype === 'float32') {
      const flags = { transA: Number(transA), transB: Number(transB), alpha: { float: alpha } };
      return [e.emit('FusedMatMul', [a, b], flags, { domain: 'com.microsoft' })];
    }
    if (e.profile.gemm && types.every(({ shape }) => shape.length === 2)) {
      return [e.emit('Gemm', [a, b], { transA: Number(transA), transB: Number(transB), alpha: { float: alpha } })];
    }
    const left = transA ? swapLastTwo(e, a, types[0]) : a;
    const right = transB ? swapLastTwo(e, b, types[1]) : b;
    const product = e.emit('MatMul', [left, right]);
    return [alpha === 1 ? product : e.emit('Mul', [product, e.scalar(alpha, types[0].dtype)])];
  },
  tensorflow(tf, { inputs: [a, b], outputs: [output], attrs: { transA, transB, alpha } }) {
    // Not all backends broadcast batches right, e.g. [2,1] with [2].
    const lead = (output as ValueType).shape.slice(0, -2);
    const full = (x: TfTensor) => (sameShape(x.shape.slice(0, -2), lead) ? x : tf.broadcastTo(x, [...lead, ...x.shape.slice(-2)]));
    const product = tf.matMul(full(a), full(b), transA, transB);
    return [alpha === 1 ? product : tf.mul(product, alpha)];
  },
};

/** c + alpha · op(A) · op(B) for matrices, as BLAS has it. */
export const addMatmul: Operator<MatmulAttrs, Three> = {
  name: 'addMatmul',
  infer([c, a, b], attrs) {
    const [product] = matmul.infer([a, b], attrs) as [ValueType];
    if (product.shape.length !== 2 || !sameShape(c.shape, product.shape)) throw shapeError('addMatmul', 'needs matrices, the first in the shape of the product', [c, a, b]);
    requireSameDType('addMatmul', [c, a]);
    return [c];
  },
  vjp: {
    apply(g, { grad, inputs: [, a, b], attrs: { transA, transB, alpha } }) {
      const da = transA ? g.matmul(b, grad, { transA: transB, transB: true, alpha }) : g.matmul(grad, b, { transB: !transB, alpha });
      const db = transB ? g.matmul(grad, a, { transA: true, transB: transA, alpha }) : g.matmul(a, grad, { transA: !transA, alpha });
      return [grad, da, db];
    },
  },
  onnx: (e, { inputs: [c, a, b], attrs: { transA, transB, alpha } }) =>
    [e.emit('Gemm', [a, b, c], { transA: Number(transA), transB: Number(transB), alpha: { float: alpha } })],
  tensorflow(tf, { inputs: [c, a, b], attrs: { transA, transB, alpha } }) {
    const product = tf.matMul(a, b, transA, transB);
    return [tf.add(c, alpha === 1 ? product : tf.mul(product, alpha))];
  },
};

function lastTwo(type: ValueType, transposed: boolean): [number, number] {
  const [rows = 1, columns = 1] = type.shape.slice(-2);
  return transposed ? [columns, rows] : [rows, columns];
}

function swapLastTwo(e: OnnxEmitter, name: string, type: ValueType): string {
  const perm = type.shape.map((_, i) => i);
  perm.splice(-2, 2, perm.length - 1, perm.length - 2);
  return e.emit('Transpose', [name], { perm });
}
