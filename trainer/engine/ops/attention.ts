import { requireFloat, requireIndex, requireSameDType, sameShape, shapeError, type Operator } from '../operator.ts';
import type { OnnxEmitter } from '../onnx/emitter.ts';
import type { TfTensor } from '../tensorflow/types.ts';
import type { ValueType } from '../tensor.ts';

export type Four = readonly [0, 0, 0, 0];

/**
 * Rotation by angles looked up at `positions`; `inverse` turns the other way. A rotation is orthogonal, so the VJP is the
 * inverse rotation. x [B,H,L,D], positions [B,L], cos and sin [P,D/2].
 */
export const rope: Operator<{ inverse: boolean }, Four> = {
  name: 'rope',
  infer([x, positions, cos, sin]) {
    const types = [x, positions, cos, sin];
    requireFloat('rope', [x, cos, sin]);
    requireSameDType('rope', [x, cos, sin]);
    requireIndex('rope', positions, types);
    const [batch = 0, , length = 0, dim = 0] = x.shape;
    const fits = x.shape.length === 4 && dim % 2 === 0 && sameShape(positions.shape, [batch, length])
      && cos.shape.length === 2 && cos.shape[1] === dim / 2 && sameShape(cos.shape, sin.shape);
    if (!fits) throw shapeError('rope', 'needs x [B,H,L,D], positions [B,L], cos and sin [P,D/2]', types);
    return [x];
  },
  vjp: {
    apply(b, { grad, inputs: [, positions, cos, sin], attrs }) {
      return [b.apply(rope, [grad, positions, cos, sin], { inverse: !attrs.inverse }), undefined, undefined, undefined];
    },
  },
  onnx(e, { inputs: [x, positions, cos, sin], types: [type, positionsType], attrs: { inverse } }) {
    const signed = inverse ? e.emit('Neg', [sin]) : sin;
    if (e.profile.fusedRope && type.dtype === 'float32') {
      const ids = positionsType.dtype === 'int64' ? positions : e.cast(positions, 'int64');
      return [e.emit('RotaryEmbedding', [x, ids, cos, signed], {}, { domain: 'com.microsoft' })];
    }
    return [rotate(e, x, positions, cos, signed, type)];
  },
  tensorflow(tf, { inputs: [x, positions, cos, sin], types: [{ shape: [b = 0, , l = 0, d = 0] }], attrs: { inverse } }) {
    const at = (table: TfTensor) => tf.reshape(tf.gather(table, positions), [b, 1, l, d / 2]);
    const [x1, x2] = tf.split(x, 2, 3) as [TfTensor, TfTensor];
    const [c, s] = [at(cos), inverse ? tf.neg(at(sin)) : at(sin)];
    return [tf.concat([tf.sub(tf.mul(x1, c), tf.mul(x2, s)), tf.add(tf.mul(x2, c), tf.mul(x1, s))], 3)];
  },
};

/** (x1, x2) -> (x1·cos − x2·sin, x2·cos + x1·sin) with x1, x2 the halves of the last axis. */
function rotate(e: OnnxEmitter, x: string, positions: string, cos: string, sin: string, { shape: [b = 0, , l = 0, d = 0] }: ValueType): string {
  const at = (table: string) => e.emit('Reshape', [e.emit('Gather', [table, positions], { axis: 0 }), e.ints([b, 1, l, d / 2])]);
  const half = (start: number) => e.emit('Slice', [x, e.ints([start]), e.ints([start + d / 2]), e.ints([3])]);
  const [c, s, x1, x2] = [at(cos), at(sin), half(0), half(d / 2)];
  const first = e.emit('Sub', [e.emit('Mul', [x1, c]), e.emit('Mul', [x2, s])]);
  const second = e.emit('Add', [e.emit('Mul', [x2, c]), e.emit('Mul', [x1, s])]);
  return e.emit('Concat', [first, second], { axis: 3 });
}
