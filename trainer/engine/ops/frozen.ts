import type { OnnxEmitter } from '../onnx/emitter.ts';
import { TrainerError } from '../../protocol/errors.ts';
import { requireFloat, sameShape, shapeError, type Many, type One, type Operator } from '../operator.ts';
import type { Shape, ValueType } from '../tensor.ts';

/**
 * How a matrix W [out, in] that is never trained is kept. float16: its values. int8 and int4: codes, and a scale for each block of 32 values of a row,
 * W = scale · (code - zero) with zero 128 or 8; codes uint8 [out, in / 32, 32] or [out, in / 32, 16], of 4 bits two to a byte, the even one in the low half
 * (the layout of com.microsoft MatMulNBits); scales float32 [out, in / 32].
 */
export type FrozenFormat = 'float16' | 'int8' | 'int4';
export const blockSize = 32;
const bitsOf = { int8: 8, int4: 4 } as const;

type FrozenAttrs = { format: FrozenFormat; transB: boolean; packed: boolean; activations: 'float32' | 'int8' };

/**
 * x [n, in] · Wᵀ, or with `transB` false x [n, out] · W. Each is the other's derivative; W gets none. `packed`: W is a constant. `activations` int8: x is rounded too, in the blocks of W, on the CPU and
 * with transB, where W is packed int8.
 */
export const frozenMatmul: Operator<FrozenAttrs, Many> = {
  name: 'frozenMatmul',
  infer(types, { format, transB }) {
    const x = types[0] as ValueType;
    requireFloat('frozenMatmul', [x]);
    const [out, input] = matrixShape(types, format);
    if (x.shape.length !== 2 || x.shape[1] !== (transB ? input : out)) throw shapeError('frozenMatmul', `needs x [n, ${transB ? input : out}] for a matrix [${out}, ${input}]`, types);
    return [{ dtype: x.dtype, shape: [x.shape[0] as number, transB ? out : input] }];
  },
  vjp: {
    apply: (b, { grad, inputs: [, ...matrix], attrs: { format, transB, packed, activations } }) => [b.frozenMatmul(grad, matrix, format, { transB: !transB, packed, activations }), ...matrix.map(() => undefined)],
  },
  onnx(e, { inputs: [x = '', ...matrix], types, attrs: { format, transB, packed, activations } }) {
    const [out, input] = matrixShape(types, format);
    const { dtype } = types[0] as ValueType;
    // Without packing the kernel reads codes one by one, ten times slower than the way below. So it does for int8 by float32.
    const bits = format === 'int4' && activations === 'float32' ? 4 : format === 'int8' && activations === 'int8' ? 8 : null;
    if (bits !== null && packed && transB && dtype === 'float32' && e.profile.matMulNBits) {
      const attributes = { K: input, N: out, bits, block_size: blockSize, accuracy_level: activations === 'int8' ? 4 : 1 }; // 1: activations stay float32
      return [e.emit('MatMulNBits', [x, matrix[0] as string, e.emit('Reshape', [matrix[1] as string, e.ints([-1])])], attributes, { domain: 'com.microsoft' })];
    }
    const w = format === 'float16' ? expanded(e, matrix[0] as string, [out, input], transB) : dequantized(e, matrix as [string, string], bitsOf[format], [out, input]);
    if (e.profile.fusedMatMul && dtype === 'float32') return [e.emit('FusedMatMul', [x, w], { transA: 0, transB: Number(transB), alpha: { float: 1 } }, { domain: 'com.microsoft' })];
    const right = transB ? e.emit('Transpose', [w], { perm: [1, 0] }) : w;
    return [e.emit('MatMul', [x, dtype === 'float32' ? right : e.cast(right, dtype)])];
  },
  tensorflow: (_tf, { types }) => { throw new TrainerError('environment', `frozenMatmul: TensorFlow.js has no ${types[1]?.dtype}. Keep frozen matrices in float32.`); },
};

/**
 * Rows of a block, x [n, 32], as int8: codes uint8 [n, 32] and scales float32 [n], the largest magnitude / 127, so that x ≈ scale · (code - 128). Results are inputs of frozenMatmul.
 * Several times as fast as a loop in JavaScript; halves go to the even code.
 */
export const quantizeRows: Operator<Record<string, never>, One> = {
  name: 'quantizeRows',
  infer([x]) {
    if (x.dtype !== 'float32' || x.shape.length !== 2 || x.shape[1] !== blockSize) throw shapeError('quantizeRows', `needs float32 [n, ${blockSize}]`, [x]);
    return [{ dtype: 'uint8', shape: x.shape }, { dtype: 'float32', shape: [x.shape[0] as number] }];
  },
  vjp: 'zero',
  onnx(e, { inputs: [x] }) {
    const most = e.emit('ReduceMax', [e.emit('Abs', [x]), e.ints([1])], { keepdims: 0 });
    // Rows of zeros have a scale too: nothing is divided by 0.
    const scales = e.emit('Max', [e.emit('Mul', [most, e.scalar(1 / 127, 'float32')]), e.scalar(1e-30, 'float32')]);
    const zeros = e.emit('Expand', [e.scalar(128, 'uint8'), e.emit('Shape', [scales])]);
    return [e.emit('QuantizeLinear', [x, scales, zeros], { axis: 0 }), scales];
  },
  tensorflow: () => { throw new TrainerError('environment', 'quantizeRows: TensorFlow.js has no uint8. Keep matrices in float32.'); },
};

/** The shape [out, in] of a matrix that is kept as `format`. */
function matrixShape(types: readonly ValueType[], format: FrozenFormat): [number, number] {
  const [, kept, scales] = types;
  const fits = (type: ValueType | undefined, dtype: string, shape: Shape) => type?.dtype === dtype && sameShape(type.shape, shape);
  if (format === 'float16') {
    if (types.length !== 2 || kept?.dtype !== 'float16' || kept.shape.length !== 2) throw shapeError('frozenMatmul', 'needs x and float16 [out, in]', types);
    return kept.shape as [number, number];
  }
  const [out = 0, blocks = 0] = scales?.shape ?? [];
  const bytes = (blockSize * bitsOf[format]) / 8;
  if (types.length !== 3 || !fits(kept, 'uint8', [out, blocks, bytes]) || !fits(scales, 'float32', [out, blocks])) {
    throw shapeError('frozenMatmul', `needs x, uint8 codes [out, in / ${blockSize}, ${bytes}] and float32 scales [out, in / ${blockSize}]`, types);
  }
  return [out, blocks * blockSize];
}

/** float16 as float32. Forward and backward pass say it differently: ONNX Runtime would expand the matrices once for both, and all of them would be in memory in between. */
function expanded(e: OnnxEmitter, half: string, [out, input]: [number, number], transB: boolean): string {
  return transB ? e.cast(half, 'float32') : e.emit('Reshape', [e.cast(e.emit('Reshape', [half, e.ints([-1])]), 'float32'), e.ints([out, input])]);
}

/** A scale per row of DequantizeLinear is many times faster than its scale per block, so blocks are made rows. */
function dequantized(e: OnnxEmitter, [codes, scales]: [string, string], bits: 8 | 4, [out, input]: [number, number]): string {
  const blocks = (out * input) / blockSize;
  let bytes = codes;
  if (bits === 4) {
    const flat = e.emit('Reshape', [codes, e.ints([1, -1])]);
    const halves = [e.emit('BitwiseAnd', [flat, e.scalar(15, 'uint8')]), e.emit('BitShift', [flat, e.scalar(4, 'uint8')], { direction: 'RIGHT' })];
    bytes = e.emit('Transpose', [e.emit('Concat', halves, { axis: 0 })], { perm: [1, 0] });
  }
  const rows = e.emit('Reshape', [bytes, e.ints([blocks, blockSize])]);
  const values = e.emit('DequantizeLinear', [rows, e.emit('Reshape', [scales, e.ints([blocks])]), e.filled(blocks, 2 ** (bits - 1), 'uint8')], { axis: 0 });
  return e.emit('Reshape', [values, e.ints([out, input])]);
}
