import { requireFloat, requireIndex, requireSameDType, sameShape, shapeError, type Many, type Operator } from '../operator.ts';
import type { OnnxEmitter } from '../onnx/emitter.ts';
import type { Value } from '../graph.ts';
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

export interface CachedAttentionInputs {
  /** [B, S, heads·D], [B, S, kvHeads·D], [B, S, kvHeads·D]: the new tokens, before rotary embedding. */
  readonly query: Value;
  readonly key: Value;
  readonly value: Value;
  /** [B, kvHeads, P, D], P the cache's fixed length. */
  readonly pastKey: Value;
  readonly pastValue: Value;
  /** int32 [B]: position of each row's last new token (its tokens so far, minus one). */
  readonly lastPosition: Value;
  /** int32 scalar: the longest row's number of tokens, new ones included. */
  readonly totalLength: Value;
  /** [P, D/2] rotary tables. */
  readonly cos: Value;
  readonly sin: Value;
}

export type CachedAttentionOptions = { readonly heads: number; readonly kvHeads: number; readonly scale: number };

export interface CachedAttentionResult {
  readonly output: Value;
  readonly presentKey: Value;
  readonly presentValue: Value;
}

/**
 * Grouped-query attention over a cache (com.microsoft GroupQueryAttention): applies the rotary embedding, appends the new keys
 * and values at each row's position and attends causally. When the run writes presentKey / presentValue into the very memory
 * that is fed as pastKey / pastValue, nothing is copied but the new tokens. Either S = 1 (decoding), or all rows start at
 * position 0 (prefill, right-padded: lastPosition says how long each row is).
 */
export const cachedAttention: Operator<CachedAttentionOptions, Many> = {
  name: 'cachedAttention',
  infer(types, { heads, kvHeads }) {
    const [q, k, v, pastK, pastV, last, total, cos, sin] = types as [ValueType, ValueType, ValueType, ValueType, ValueType, ValueType, ValueType, ValueType, ValueType];
    const [b = 0, s = 0, width = 0] = q.shape;
    const dim = width / heads;
    const cache = [b, kvHeads, pastK.shape[2] ?? 0, dim];
    const fits = q.shape.length === 3 && Number.isInteger(dim) && heads % kvHeads === 0
      && [k, v].every((t) => sameShape(t.shape, [b, s, kvHeads * dim]))
      && [pastK, pastV].every((t) => sameShape(t.shape, cache))
      && last.dtype === 'int32' && sameShape(last.shape, [b]) && total.dtype === 'int32' && total.shape.length === 0
      && [cos, sin].every((t) => t.shape[1] === dim / 2);
    if (!fits) throw shapeError('cachedAttention', `operands do not fit ${heads} heads over ${kvHeads} key/value heads`, types);
    return [q, pastK, pastV];
  },
  vjp: 'missing',
  onnx(e, { inputs, attrs: { heads, kvHeads, scale } }) {
    const attributes = { num_heads: heads, kv_num_heads: kvHeads, scale: { float: scale }, do_rotary: 1 };
    return e.emitMany('GroupQueryAttention', inputs, 3, attributes, { domain: 'com.microsoft' });
  },
};
