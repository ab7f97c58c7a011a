import { TrainerError } from '../protocol/errors.ts';
import type { Attrs, Many, Operator } from './operator.ts';
import { sameShape } from './operator.ts';
import { rope } from './ops/attention.ts';
import * as elementwise from './ops/elementwise.ts';
import { frozenMatmul, quantizeRows, type FrozenFormat } from './ops/frozen.ts';
import * as indexing from './ops/indexing.ts';
import { addMatmul, matmul, type MatmulOptions } from './ops/linear.ts';
import * as normalization from './ops/normalization.ts';
import * as reduce from './ops/reduce.ts';
import * as shaping from './ops/shaping.ts';
import { elementCount, tensor, type DType, type Shape, type Tensor, type ValueType } from './tensor.ts';

/** An edge of the graph. Compare by identity. */
export interface Value extends ValueType {
  readonly id: number;
  readonly source: Source;
}

export type Source =
  | { readonly kind: 'input'; readonly name: string }
  | { readonly kind: 'constant'; readonly tensor: Tensor }
  | { readonly kind: 'call'; readonly call: Call };

export interface Call {
  readonly id: number;
  readonly op: Operator;
  readonly inputs: readonly Value[];
  readonly attrs: Attrs;
  readonly outputs: readonly Value[];
}

/**
 * What an executor compiles: named inputs and outputs; everything between is reached from the outputs. An input may be the result of a call: the
 * graph then begins after it.
 */
export interface Graph {
  readonly inputs: ReadonlyMap<string, Value>;
  readonly outputs: ReadonlyMap<string, Value>;
}

type Operand = Value | number;

// Shared by all builders, so that a value of another graph is never taken for one of this.
let nextId = 0;

/**
 * Builds a graph of typed values with static shapes. Equal calls give the same value (common subexpressions are shared);
 * ids grow in topological order. Shape rules throw errors naming the operator and the operand types.
 * A number stands for a scalar of the other operand's dtype.
 */
export class GraphBuilder implements Graph {
  readonly inputs = new Map<string, Value>();
  readonly outputs = new Map<string, Value>();
  readonly #calls = new Map<string, Call>();
  readonly #scalars = new Map<string, Value>();

  // ---- leaves and outputs

  /** A value fed at each run: data, trainable weights, caches. */
  input(name: string, dtype: DType, shape: Shape): Value {
    if (this.inputs.has(name)) throw new TrainerError('internal', `graph input "${name}" exists already`);
    const value = this.#value({ dtype, shape }, { kind: 'input', name });
    this.inputs.set(name, value);
    return value;
  }

  /** A value fixed at compile time, kept (and on the CPU pre-packed) by the session: frozen weights, masks, tables. */
  constant(data: Tensor): Value {
    return this.#value(data, { kind: 'constant', tensor: data });
  }

  scalar(value: number, dtype: DType = 'float32'): Value {
    const key = `${dtype} ${Object.is(value, -0) ? '-0' : value}`;
    const known = this.#scalars.get(key);
    if (known) return known;
    const result = this.constant(tensor(dtype, [], [value]));
    this.#scalars.set(key, result);
    return result;
  }

  zeros(type: ValueType): Value { return this.expand(this.scalar(0, type.dtype), type.shape); }

  /** Names a result. One value may have several names. */
  output(name: string, value: Value): Value {
    if (this.outputs.has(name)) throw new TrainerError('internal', `graph output "${name}" exists already`);
    this.outputs.set(name, value);
    return value;
  }

  // ---- elementwise (binary ones broadcast)

  add(a: Operand, b: Operand): Value { return this.#binary(elementwise.add, a, b); }
  sub(a: Operand, b: Operand): Value { return this.#binary(elementwise.sub, a, b); }
  mul(a: Operand, b: Operand): Value { return this.#binary(elementwise.mul, a, b); }
  div(a: Operand, b: Operand): Value { return this.#binary(elementwise.div, a, b); }
  /** On a tie the gradient of minimum and maximum goes to `a`. */
  minimum(a: Operand, b: Operand): Value { return this.#binary(elementwise.minimum, a, b); }
  maximum(a: Operand, b: Operand): Value { return this.#binary(elementwise.maximum, a, b); }
  equal(a: Operand, b: Operand): Value { return this.#binary(elementwise.equal, a, b); }
  less(a: Operand, b: Operand): Value { return this.#binary(elementwise.less, a, b); }
  lessOrEqual(a: Operand, b: Operand): Value { return this.#binary(elementwise.lessOrEqual, a, b); }
  greater(a: Operand, b: Operand): Value { return this.less(b, a); }
  greaterOrEqual(a: Operand, b: Operand): Value { return this.lessOrEqual(b, a); }

  neg(x: Value): Value { return this.apply(elementwise.neg, [x], {}); }
  exp(x: Value): Value { return this.apply(elementwise.exp, [x], {}); }
  log(x: Value): Value { return this.apply(elementwise.log, [x], {}); }
  sqrt(x: Value): Value { return this.apply(elementwise.sqrt, [x], {}); }
  rsqrt(x: Value): Value { return this.div(1, this.sqrt(x)); }
  sigmoid(x: Value): Value { return this.apply(elementwise.sigmoid, [x], {}); }
  silu(x: Value): Value { return this.apply(elementwise.silu, [x], {}); }
  tanh(x: Value): Value { return this.apply(elementwise.tanh, [x], {}); }
  geluTanh(x: Value): Value { return this.apply(elementwise.geluTanh, [x], {}); }
  square(x: Value): Value { return this.mul(x, x); }
  cast(x: Value, dtype: DType): Value { return x.dtype === dtype ? x : this.apply(elementwise.cast, [x], { dtype }); }
  stopGradient(x: Value): Value { return this.apply(elementwise.stopGradient, [x], {}); }

  /** Limits to [low, high]; the gradient is 1 inside and on the border, 0 outside. */
  clip(x: Value, low: number, high: number): Value { return this.minimum(this.maximum(x, low), high); }

  where(condition: Value, a: Operand, b: Operand): Value {
    const [x, y] = this.#pair(a, b);
    return this.apply(elementwise.where, [condition, x, y], {});
  }

  // ---- linear algebra

  /** alpha · op(a) · op(b) over the last two axes; leading axes broadcast. `transA` / `transB` transpose those two axes. */
  matmul(a: Value, b: Value, options: MatmulOptions = {}): Value {
    const { transA = false, transB = false, alpha = 1 } = options;
    // One large product instead of a batch of small ones when the right side is shared.
    if (a.shape.length > 2 && b.shape.length === 2 && !transA) {
      const flat = this.reshape(a, [-1, a.shape.at(-1) ?? 1]);
      const product = this.apply(matmul, [flat, b], { transA, transB, alpha });
      return this.reshape(product, [...a.shape.slice(0, -1), product.shape.at(-1) ?? 1]);
    }
    return this.apply(matmul, [a, b], { transA, transB, alpha });
  }

  /** sum + alpha · op(a) · op(b) for matrices: the product is added where `sum` lies, if that may be overwritten. */
  addMatmul(sum: Value, a: Value, b: Value, options: MatmulOptions = {}): Value {
    const { transA = false, transB = false, alpha = 1 } = options;
    return this.apply(addMatmul, [sum, a, b], { transA, transB, alpha });
  }

  /**
   * x [..., in] · Wᵀ -> [..., out] for a matrix W [out, in] that is kept in low precision and gets no gradient; `matrix`: its parts, see `FrozenFormat`.
   * With `transB` false x [..., out] · W. `packed`: the parts are constants. `activations` int8: those are rounded as well (see the operator).
   */
  frozenMatmul(x: Value, matrix: readonly Value[], format: FrozenFormat, { transB = true, packed = false, activations = 'float32' }: { transB?: boolean; packed?: boolean; activations?: 'float32' | 'int8' } = {}): Value {
    const product = this.apply(frozenMatmul, [this.reshape(x, [-1, x.shape.at(-1) ?? 1]), ...matrix], { format, transB, packed, activations });
    return this.reshape(product, [...x.shape.slice(0, -1), product.shape.at(-1) ?? 1]);
  }

  /** x [n, 32] as int8: codes uint8 [n, 32] and scales [n]. No gradient. */
  quantizeRows(x: Value): readonly [codes: Value, scales: Value] { return this.call(quantizeRows, [x], {}).outputs as [Value, Value]; }

  // ---- reductions (all axes when `axes` is left out)

  reduceSum(x: Value, axes?: readonly number[], keepdims = false): Value { return this.#reduce(reduce.reduceSum, x, axes, keepdims); }
  reduceMean(x: Value, axes?: readonly number[], keepdims = false): Value { return this.#reduce(reduce.reduceMean, x, axes, keepdims); }
  /** On a tie the gradient is shared equally among the maxima. */
  reduceMax(x: Value, axes?: readonly number[], keepdims = false): Value { return this.#reduce(reduce.reduceMax, x, axes, keepdims); }

  /** Sums `x` down to a shape that broadcasts to its own. */
  sumTo(x: Value, shape: Shape): Value {
    if (sameShape(x.shape, shape)) return x;
    const lead = x.shape.length - shape.length;
    const axes = x.shape.map((_, i) => i).filter((i) => i < lead || (shape[i - lead] === 1 && x.shape[i] !== 1));
    return this.reshape(this.reduceSum(x, axes, true), shape);
  }

  // ---- shape

  /** One dimension may be -1 and is inferred. */
  reshape(x: Value, shape: Shape): Value {
    const known = elementCount(shape.filter((d) => d !== -1));
    const full = shape.map((d) => (d === -1 ? elementCount(x.shape) / known : d));
    return sameShape(x.shape, full) ? x : this.apply(shaping.reshape, [x], { shape: full, inferred: shape.indexOf(-1) });
  }

  /** Rows [B·S, W], one for each element of `like` [B, S], as [B, S, W]. */
  unflatten(rows: Value, like: Value): Value { return this.apply(shaping.unflatten, [rows, like], {}); }

  transpose(x: Value, perm: readonly number[]): Value {
    return perm.every((p, i) => p === i) && perm.length === x.shape.length ? x : this.apply(shaping.transpose, [x], { perm });
  }

  expand(x: Value, shape: Shape): Value { return sameShape(x.shape, shape) ? x : this.apply(shaping.expand, [x], { shape }); }
  /** Elements [start, end) of one axis; negative axis counts from the end. */
  slice(x: Value, axis: number, start: number, end: number): Value { return this.apply(shaping.slice, [x], { axis, start, end }); }
  concat(xs: readonly Value[], axis: number): Value { return this.apply(shaping.concat, xs, { axis }); }
  /** Cuts the last axis in two, as long as the last axes of `first` and `second`. */
  splitLike(x: Value, first: Value, second: Value): readonly [Value, Value] { return this.call(shaping.splitLike, [x, first, second], {}).outputs as [Value, Value]; }
  /** Cuts one axis into parts of the given sizes. */
  split(x: Value, axis: number, sizes: readonly number[]): readonly Value[] { return this.call(shaping.split, [x], { axis, sizes }).outputs; }

  // ---- indexing

  /** Rows of `table` [V, ...] chosen by `rows` [...i]: [...i, ...]. */
  gather(table: Value, rows: Value): Value { return this.apply(indexing.gather, [table, rows], {}); }
  /** `x` [..., N] at `index` [..., K] of the last axis: [..., K]. */
  gatherElements(x: Value, index: Value): Value { return this.apply(indexing.gatherElements, [x, index], {}); }
  /** `base` [V, D] with `updates` [n, D] added to the rows `rows` [n]; repeated rows accumulate. */
  scatterAddRows(base: Value, rows: Value, updates: Value): Value { return this.apply(indexing.scatterAddRows, [base, rows, updates], {}); }
  /** `base` [..., N] with `updates` [..., K] added at `index` [..., K] of the last axis. */
  scatterAddElements(base: Value, index: Value, updates: Value): Value { return this.apply(indexing.scatterAddElements, [base, index, updates], {}); }

  // ---- normalisation and attention

  /** Over the last axis. */
  softmax(x: Value): Value { return this.apply(normalization.softmax, [x], {}); }
  /** Over the last axis. */
  logSoftmax(x: Value): Value { return this.apply(normalization.logSoftmax, [x], {}); }
  /** log Σ exp over the last axis, kept as size 1. */
  logSumExp(x: Value): Value { return this.apply(normalization.logSumExp, [x], {}); }

  /** x / sqrt(mean(x²) + eps) · weight over the last axis (RMSNorm, Zhang & Sennrich 2019). `weight` [D]. */
  rmsNorm(x: Value, weight: Value, eps = 1e-6): Value { return this.apply(normalization.rmsNorm, [x, weight], { eps }); }

  /**
   * Rotary position embedding, half-split layout (as in Llama and Qwen2): pairs are (i, i + D/2).
   * `x` [B, H, L, D]; `positions` [B, L] int; `cos`, `sin` [P, D/2] tables, best constants made in float64 on the host.
   */
  rope(x: Value, positions: Value, cos: Value, sin: Value): Value { return this.apply(rope, [x, positions, cos, sin], { inverse: false }); }

  // ---- machinery

  /** Applies an operator with one result. */
  apply<A extends Attrs, N extends Many>(op: Operator<A, N>, inputs: readonly Value[], attrs: A): Value {
    return this.call(op, inputs, attrs).outputs[0] as Value;
  }

  call<A extends Attrs, N extends Many>(op: Operator<A, N>, inputs: readonly Value[], attrs: A): Call {
    const key = `${op.name} ${inputs.map((v) => v.id).join(',')} ${JSON.stringify(attrs)}`;
    const known = this.#calls.get(key);
    if (known) return known;
    const operator: Operator = op;
    const types = operator.infer(inputs, attrs);
    const outputs: Value[] = [];
    const call: Call = { id: nextId++, op: operator, inputs: [...inputs], attrs, outputs };
    for (const type of types) outputs.push(this.#value(type, { kind: 'call', call }));
    this.#calls.set(key, call);
    return call;
  }

  #value(type: ValueType, source: Source): Value {
    return { id: nextId++, dtype: type.dtype, shape: [...type.shape], source };
  }

  #pair(a: Operand, b: Operand): [Value, Value] {
    const dtype = typeof a !== 'number' ? a.dtype : typeof b !== 'number' ? b.dtype : 'float32';
    return [typeof a === 'number' ? this.scalar(a, dtype) : a, typeof b === 'number' ? this.scalar(b, dtype) : b];
  }

  #binary(op: Operator, a: Operand, b: Operand): Value {
    return this.apply(op, this.#pair(a, b), {});
  }

  #reduce(op: Operator, x: Value, axes: readonly number[] | undefined, keepdims: boolean): Value {
    const all = axes ?? x.shape.map((_, i) => i);
    return all.length === 0 ? x : this.apply(op, [x], { axes: all, keepdims });
  }
}
