import { GraphBuilder, type Value } from '../../../trainer/engine/graph.ts';
import type { FrozenFormat } from '../../../trainer/engine/ops/frozen.ts';
import { float32, int32, tensor, wrap, type DType, type Shape } from '../../../trainer/engine/tensor.ts';
import { float32ToFloat16 } from '../../../trainer/models/half.ts';

/** One operator at work: float inputs, the graph, and what it must compute, written out in plain float64. */
export interface Case {
  readonly name: string;
  readonly inputs: readonly { readonly shape: Shape; readonly values: readonly number[] }[];
  build(g: GraphBuilder, inputs: Value[], dtype: DType): Value;
  reference(inputs: number[][]): number[];
}

type Input = Case['inputs'][number];

/** Distinct, well separated values: no finite difference steps over a tie. `low` keeps logarithms and roots in their domain. */
function spread(shape: Shape, low = -1.3, seed = 0): Input {
  const count = shape.reduce((a, b) => a * b, 1);
  const values = Array.from({ length: count }, (_, i) => low + ((i * 7 + 3 + seed * 5) % count) * (2.6 / count) + 0.017 * (seed + 1));
  return { shape, values };
}

const range = (n: number) => Array.from({ length: n }, (_, i) => i);
const at = (a: readonly number[], i: number) => a[i] as number;
const rowsOf = (x: readonly number[], width: number) => range(x.length / width).map((r) => x.slice(r * width, (r + 1) * width));
const sum = (x: readonly number[]) => x.reduce((a, b) => a + b, 0);
const softmaxOf = (row: number[]) => row.map((v) => Math.exp(v) / sum(row.map(Math.exp)));

function unary(name: 'neg' | 'exp' | 'log' | 'sqrt' | 'rsqrt' | 'sigmoid' | 'silu' | 'tanh' | 'geluTanh' | 'square', f: (x: number) => number, low?: number): Case {
  return { name, inputs: [spread([2, 3], low)], build: (g, [x]) => g[name](x as Value), reference: ([x]) => (x as number[]).map(f) };
}

function binary(name: 'add' | 'sub' | 'mul' | 'div' | 'minimum' | 'maximum', f: (x: number, y: number) => number): Case {
  return {
    name: `${name} (broadcast)`,
    inputs: [spread([2, 1, 3]), spread([4, 1], 0.2, 1)],
    build: (g, [x, y]) => g[name](x as Value, y as Value),
    reference: ([x, y]) => range(2).flatMap((i) => range(4).flatMap((j) => range(3).map((k) => f(at(x as number[], i * 3 + k), at(y as number[], j))))),
  };
}

function product(name: string, a: Shape, b: Shape, transA: boolean, transB: boolean, alpha = 1): Case {
  const [m, k] = transA ? [at(a.slice(-2), 1), at(a.slice(-2), 0)] : [at(a.slice(-2), 0), at(a.slice(-2), 1)];
  const n = transB ? at(b.slice(-2), 0) : at(b.slice(-2), 1);
  const batch = a.slice(0, -2).reduce((x, y) => x * y, 1);
  const sharedB = b.length === 2;
  return {
    name: `matmul ${name}`,
    inputs: [spread(a), spread(b, -1, 2)],
    build: (g, [x, y]) => g.matmul(x as Value, y as Value, { transA, transB, alpha }),
    reference: ([x, y]) => range(batch).flatMap((t) => range(m).flatMap((i) => range(n).map((j) => alpha * sum(range(k).map((l) => {
      const left = at(x as number[], t * m * k + (transA ? l * m + i : i * k + l));
      const right = at(y as number[], (sharedB ? 0 : t * k * n) + (transB ? j * k + l : l * n + j));
      return left * right;
    }))))),
  };
}

/** c + alpha · Aᵀ B and its like, on the sum `c` [2, 3]. */
function addedProduct(a: Shape, b: Shape, transA: boolean, transB: boolean, alpha: number): Case {
  const plain = product('', a, b, transA, transB, alpha);
  return {
    name: `addMatmul ${transA ? 'Aᵀ' : 'A'} ${transB ? 'Bᵀ' : 'B'}`,
    inputs: [spread([2, 3], -2, 2), ...plain.inputs],
    build: (g, [c, x, y]) => g.addMatmul(c!, x!, y!, { transA, transB, alpha }),
    reference: ([c, ...operands]) => plain.reference(operands).map((value, i) => value + at(c as number[], i)),
  };
}

/** x [2, 64 or 3] with a matrix [3, 64] that is kept in `format`; every value of it is a multiple of its scale. */
function frozenProduct(format: FrozenFormat, transB: boolean): Case {
  const [rows, columns] = [3, 64];
  const scales = range(6).map((block) => 0.25 + 0.125 * block);
  const code = (i: number) => ((i * 7) % 15) - 7;
  const w = range(rows * columns).map((i) => (format === 'float16' ? 1 : at(scales, Math.floor(i / 32))) * code(i));
  const matrix = (g: GraphBuilder) => {
    if (format === 'float16') return [g.constant(wrap('float16', [rows, columns], float32ToFloat16(Float32Array.from(w))))];
    const codes = range(w.length).map((i) => code(i) + (format === 'int8' ? 128 : 8));
    const bytes = format === 'int8' ? codes : range(w.length / 2).map((i) => at(codes, 2 * i) + 16 * at(codes, 2 * i + 1));
    return [g.constant(tensor('uint8', [rows, 2, bytes.length / 6], bytes)), g.constant(float32([rows, 2], scales))];
  };
  return {
    name: `frozenMatmul ${format}${transB ? ', transB' : ''}`, inputs: [spread([2, transB ? columns : rows])],
    build: (g, [x]) => g.frozenMatmul(x!, matrix(g), format, { transB }),
    reference: ([x]) => rowsOf(x!, transB ? columns : rows).flatMap((row) => range(transB ? rows : columns).map((o) => sum(row.map((v, i) => v * at(w, transB ? o * columns + i : i * columns + o))))),
  };
}

const ropeTables = (positions: number) => ({
  cos: range(positions * 2).map((i) => Math.cos(Math.floor(i / 2) * [1, 0.3][i % 2]!)),
  sin: range(positions * 2).map((i) => Math.sin(Math.floor(i / 2) * [1, 0.3][i % 2]!)),
});

export const cases: readonly Case[] = [
  unary('neg', (x) => -x),
  unary('exp', Math.exp),
  unary('log', Math.log, 0.2),
  unary('sqrt', Math.sqrt, 0.2),
  unary('rsqrt', (x) => 1 / Math.sqrt(x), 0.2),
  unary('sigmoid', (x) => 1 / (1 + Math.exp(-x))),
  unary('silu', (x) => x / (1 + Math.exp(-x))),
  unary('tanh', Math.tanh),
  unary('geluTanh', (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))),
  unary('square', (x) => x * x),
  binary('add', (x, y) => x + y),
  binary('sub', (x, y) => x - y),
  binary('mul', (x, y) => x * y),
  binary('div', (x, y) => x / y),
  binary('minimum', Math.min),
  binary('maximum', Math.max),
  {
    name: 'clip', inputs: [spread([2, 4])], build: (g, [x]) => g.clip(x!, -0.5, 0.6),
    reference: ([x]) => x!.map((v) => Math.min(Math.max(v, -0.5), 0.6)),
  },
  {
    name: 'where, less', inputs: [spread([2, 3]), spread([3], -0.4, 1)], build: (g, [x, y]) => g.where(g.less(x!, 0.1), g.square(x!), y!),
    reference: ([x, y]) => x!.map((v, i) => (v < 0.1 ? v * v : at(y!, i % 3))),
  },
  {
    name: 'comparisons and cast', inputs: [spread([5])],
    build: (g, [x], dtype) => {
      const flags = [g.less(x!, x!), g.lessOrEqual(x!, x!), g.equal(x!, x!), g.greater(x!, 0), g.greaterOrEqual(x!, 0)];
      return g.mul(x!, flags.map((f, i) => g.mul(g.cast(f, dtype), 2 ** i)).reduce((a, b) => g.add(a, b)));
    },
    reference: ([x]) => x!.map((v) => v * (2 + 4 + (v > 0 ? 8 : 0) + (v >= 0 ? 16 : 0))),
  },
  {
    name: 'cast', inputs: [spread([3])], build: (g, [x], dtype) => g.mul(g.cast(g.cast(x!, 'int32'), dtype), x!),
    // The integer part is a constant between integers; the spread keeps away from them.
    reference: ([x]) => x!.map((v) => Math.trunc(v) * v),
  },
  {
    name: 'zeros', inputs: [spread([3])], build: (g, [x]) => g.add(x!, g.zeros({ dtype: x!.dtype, shape: [2, 3] })),
    reference: ([x]) => [...x!, ...x!],
  },
  product('NN', [3, 4], [4, 2], false, false),
  product('NT', [3, 4], [2, 4], false, true),
  product('TN', [4, 3], [4, 2], true, false),
  product('TT with alpha', [4, 3], [2, 4], true, true, 0.5),
  product('alpha', [3, 4], [4, 2], false, false, -2),
  product('batch', [2, 2, 3, 4], [2, 2, 4, 2], false, false),
  product('batch NT with alpha', [2, 3, 4], [2, 2, 4], false, true, 0.25),
  product('batch TN', [2, 4, 3], [2, 4, 2], true, false),
  product('batch TT', [2, 4, 3], [2, 2, 4], true, true),
  addedProduct([2, 4], [4, 3], false, false, 1), addedProduct([4, 2], [4, 3], true, false, 0.5), addedProduct([2, 4], [3, 4], false, true, -2), addedProduct([4, 2], [3, 4], true, true, 1),
  product('shared right side', [2, 3, 4], [4, 2], false, false),
  product('shared right side NT', [2, 2, 3, 4], [2, 4], false, true),
  product('shared right side TN', [2, 4, 3], [4, 2], true, false),
  {
    name: 'matmul with broadcast batch', inputs: [spread([2, 1, 2, 3]), spread([2, 3, 2], -1, 1)], build: (g, [x, y]) => g.matmul(x!, y!),
    reference: ([x, y]) => range(2).flatMap((s) => range(2).flatMap((t) => range(2).flatMap((i) => range(2).map((j) =>
      sum(range(3).map((l) => at(x!, s * 6 + i * 3 + l) * at(y!, t * 6 + l * 2 + j))))))),
  },
  {
    name: 'reduceSum', inputs: [spread([2, 3, 2])], build: (g, [x]) => g.reduceSum(g.square(x!), [1]),
    reference: ([x]) => range(4).map((i) => sum(range(3).map((j) => at(x!, Math.floor(i / 2) * 6 + j * 2 + (i % 2)) ** 2))),
  },
  {
    name: 'reduceMean', inputs: [spread([2, 3])], build: (g, [x]) => g.reduceMean(g.square(x!), [-1], true),
    reference: ([x]) => rowsOf(x!, 3).map((r) => sum(r.map((v) => v * v)) / 3),
  },
  {
    name: 'reduceMean (all)', inputs: [spread([2, 3])], build: (g, [x]) => g.reduceMean(g.exp(x!)),
    reference: ([x]) => [sum(x!.map(Math.exp)) / 6],
  },
  {
    name: 'reduceMax', inputs: [spread([2, 4])], build: (g, [x]) => g.reduceMax(x!, [1]), reference: ([x]) => rowsOf(x!, 4).map((r) => Math.max(...r)),
  },
  {
    name: 'sumTo', inputs: [spread([2, 2, 3])], build: (g, [x]) => g.sumTo(g.square(x!), [1, 3]),
    reference: ([x]) => range(3).map((j) => sum(range(4).map((i) => at(x!, i * 3 + j) ** 2))),
  },
  { name: 'reshape', inputs: [spread([2, 3])], build: (g, [x]) => g.reshape(x!, [3, -1]), reference: ([x]) => x! },
  {
    name: 'transpose', inputs: [spread([2, 3, 2])], build: (g, [x]) => g.transpose(x!, [2, 0, 1]),
    reference: ([x]) => range(2).flatMap((k) => range(2).flatMap((i) => range(3).map((j) => at(x!, i * 6 + j * 2 + k)))),
  },
  { name: 'expand', inputs: [spread([2, 1])], build: (g, [x]) => g.expand(x!, [3, 2, 2]), reference: ([x]) => range(12).map((i) => at(x!, Math.floor(i / 2) % 2)) },
  { name: 'slice', inputs: [spread([2, 5])], build: (g, [x]) => g.slice(x!, -1, 1, 4), reference: ([x]) => rowsOf(x!, 5).flatMap((r) => r.slice(1, 4)) },
  { name: 'slice (first)', inputs: [spread([3, 2])], build: (g, [x]) => g.slice(x!, 0, 0, 1), reference: ([x]) => x!.slice(0, 2) },
  {
    name: 'concat', inputs: [spread([2, 1]), spread([2, 2], -1, 1)], build: (g, [x, y]) => g.concat([x!, y!, x!], 1),
    reference: ([x, y]) => range(2).flatMap((r) => [at(x!, r), at(y!, 2 * r), at(y!, 2 * r + 1), at(x!, r)]),
  },
  {
    name: 'split', inputs: [spread([2, 5])],
    build: (g, [x]) => { const [a, , c] = g.split(x!, 1, [2, 1, 2]); return g.mul(a!, c!); },
    reference: ([x]) => rowsOf(x!, 5).flatMap((r) => [at(r, 0) * at(r, 3), at(r, 1) * at(r, 4)]),
  },
  {
    name: 'gather (repeated rows)', inputs: [spread([4, 3])], build: (g, [x]) => g.gather(x!, g.constant(int32([2, 2], [1, 3, 1, 0]))),
    reference: ([x]) => [1, 3, 1, 0].flatMap((r) => x!.slice(r * 3, r * 3 + 3)),
  },
  {
    name: 'gather (several uses)', inputs: [spread([4, 2])],
    build: (g, [x]) => g.add(g.matmul(g.gather(x!, g.constant(int32([2], [3, 3]))), x!, { transB: true }), g.reduceSum(x!)),
    reference: ([x]) => [3, 3].flatMap((r) => range(4).map((j) => sum(x!) + at(x!, r * 2) * at(x!, j * 2) + at(x!, r * 2 + 1) * at(x!, j * 2 + 1))),
  },
  {
    name: 'gatherElements (repeated)', inputs: [spread([2, 3])], build: (g, [x]) => g.gatherElements(x!, g.constant(int32([2, 2], [2, 2, 0, 1]))),
    reference: ([x]) => [at(x!, 2), at(x!, 2), at(x!, 3), at(x!, 4)],
  },
  {
    name: 'scatterAddRows', inputs: [spread([3, 2]), spread([3, 2], -1, 1)],
    build: (g, [x, y]) => g.square(g.scatterAddRows(x!, g.constant(int32([3], [2, 0, 2])), y!)),
    reference: ([x, y]) => range(6).map((i) => (at(x!, i) + (i < 2 ? at(y!, 2 + i) : i < 4 ? 0 : at(y!, i - 4) + at(y!, i))) ** 2),
  },
  {
    name: 'scatterAddElements', inputs: [spread([2, 3]), spread([2, 2], -1, 1)],
    build: (g, [x, y]) => g.square(g.scatterAddElements(x!, g.constant(int32([2, 2], [1, 1, 0, 2])), y!)),
    reference: ([x, y]) => [at(x!, 0), at(x!, 1) + at(y!, 0) + at(y!, 1), at(x!, 2), at(x!, 3) + at(y!, 2), at(x!, 4), at(x!, 5) + at(y!, 3)].map((v) => v * v),
  },
  { name: 'unflatten', inputs: [spread([6, 2])], build: (g, [x]) => g.square(g.unflatten(x!, g.constant(int32([2, 3], range(6))))), reference: ([x]) => x!.map((v) => v * v) },
  {
    name: 'splitLike', inputs: [spread([2, 5]), spread([3]), spread([1, 2])],
    build: (g, [x, p, s]) => { const [a, b] = g.splitLike(x!, p!, s!); return g.concat([b, g.square(a)], 1); },
    reference: ([x]) => rowsOf(x!, 5).flatMap((r) => [...r.slice(3), ...r.slice(0, 3).map((v) => v * v)]),
  },
  { name: 'softmax', inputs: [spread([2, 4])], build: (g, [x]) => g.softmax(x!), reference: ([x]) => rowsOf(x!, 4).flatMap(softmaxOf) },
  { name: 'logSoftmax', inputs: [spread([2, 4])], build: (g, [x]) => g.logSoftmax(x!), reference: ([x]) => rowsOf(x!, 4).flatMap((r) => softmaxOf(r).map(Math.log)) },
  { name: 'logSumExp', inputs: [spread([2, 4])], build: (g, [x]) => g.logSumExp(x!), reference: ([x]) => rowsOf(x!, 4).map((r) => Math.log(sum(r.map(Math.exp)))) },
  {
    name: 'rmsNorm', inputs: [spread([2, 2, 3]), spread([3], 0.5, 1)], build: (g, [x, w]) => g.rmsNorm(x!, w!, 1e-3),
    reference: ([x, w]) => rowsOf(x!, 3).flatMap((r) => r.map((v, i) => (v / Math.sqrt(sum(r.map((u) => u * u)) / 3 + 1e-3)) * at(w!, i))),
  },
  {
    name: 'rope', inputs: [spread([2, 2, 3, 4])],
    build: (g, [x], dtype) => {
      const { cos, sin } = ropeTables(6);
      const table = (values: number[]) => g.constant({ dtype, shape: [6, 2], data: dtype === 'float64' ? Float64Array.from(values) : Float32Array.from(values) });
      return g.rope(x!, g.constant(int32([2, 3], [0, 1, 2, 3, 4, 5])), table(cos), table(sin));
    },
    reference: ([x]) => rowsOf(x!, 4).flatMap((r, n) => {
      const position = Math.floor(n / 6) * 3 + (n % 3);
      const [a, b] = [position, position * 0.3];
      return [r[0]! * Math.cos(a) - r[2]! * Math.sin(a), r[1]! * Math.cos(b) - r[3]! * Math.sin(b), r[2]! * Math.cos(a) + r[0]! * Math.sin(a), r[3]! * Math.cos(b) + r[1]! * Math.sin(b)];
    }),
  },
];

/** Matrices in low precision, which the CPU provider alone is asked for. */
export const frozenCases: readonly Case[] = (['float16', 'int8', 'int4'] as const).flatMap((format) => [true, false].map((transB) => frozenProduct(format, transB)));
