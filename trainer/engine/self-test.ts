import { TrainerError } from '../protocol/errors.ts';
import { significant } from '../protocol/significant.ts';
import { gradients } from './autodiff.ts';
import { compile, type CompileOptions } from './executor.ts';
import { GraphBuilder, type Value } from './graph.ts';
import { float32, int32, type Shape } from './tensor.ts';

// A one-layer attention model small enough to differentiate by finite differences of the plain float64 forward pass below.
const [VOCAB, WIDTH, LENGTH] = [5, 4, 3];
const tokens = [1, 4, 1];
const targets = [4, 1, 2];
const EPS = 1e-5;
const shapes: Readonly<Record<string, Shape>> = { table: [VOCAB, WIDTH], norm: [WIDTH], query: [WIDTH, WIDTH], gate: [WIDTH, WIDTH] };
const weights = Object.fromEntries(Object.entries(shapes).map(([name, shape], n) => [name, initial(shape, n)]));
const angle = (position: number, i: number) => position / 10 ** i;
const WORST_RELATIVE_ERROR = 2e-3;

/**
 * Runs forward and backward passes on a provider and compares them with float64 arithmetic in plain TypeScript.
 * Throws `environment` with the reason when the provider is missing or computes something else.
 */
export async function selfTest(options: CompileOptions): Promise<void> {
  const names = Object.keys(shapes);
  const executable = await compile(modelGraph(), options);
  const feeds = Object.fromEntries(names.map((name) => [name, float32(shapes[name] as Shape, weights[name] as number[])]));
  const results = await executable.run({ ...feeds, tokens: int32([LENGTH], tokens), targets: int32([LENGTH, 1], targets) });
  await executable.release();
  compare(options.provider, 'the loss', results['loss']?.data, [referenceLoss(weights)]);
  for (const name of names) compare(options.provider, `the gradient of "${name}"`, results[`grad ${name}`]?.data, differences(name));
}

function modelGraph(): GraphBuilder {
  const b = new GraphBuilder();
  const [table, norm, query, gate] = Object.entries(shapes).map(([name, shape]) => b.input(name, 'float32', shape)) as [Value, Value, Value, Value];
  const x = b.gather(table, b.input('tokens', 'int32', [LENGTH]));
  const h = b.rmsNorm(x, norm, EPS);
  const positions = b.constant(int32([1, LENGTH], [0, 1, 2]));
  const trig = (f: (a: number) => number) => b.constant(float32([LENGTH, 2], [0, 1, 2].flatMap((p) => [f(angle(p, 0)), f(angle(p, 1))])));
  const rotated = b.rope(b.reshape(b.matmul(h, query), [1, 1, LENGTH, WIDTH]), positions, trig(Math.cos), trig(Math.sin));
  const mask = b.constant(float32([LENGTH, LENGTH], [0, -1e9, -1e9, 0, 0, -1e9, 0, 0, 0]));
  const attention = b.softmax(b.add(b.matmul(rotated, rotated, { transB: true, alpha: 0.5 }), mask));
  const mixed = b.reshape(b.matmul(attention, b.reshape(h, [1, 1, LENGTH, WIDTH])), [LENGTH, WIDTH]);
  const y = b.add(x, b.mul(b.silu(b.matmul(h, gate, { transB: true })), mixed));
  const logits = b.matmul(y, table, { transB: true });
  const chosen = b.gatherElements(logits, b.input('targets', 'int32', [LENGTH, 1]));
  const loss = b.output('loss', b.reduceMean(b.sub(b.logSumExp(logits), chosen)));
  const names = Object.keys(shapes);
  gradients(b, loss, [table, norm, query, gate]).forEach((grad, i) => b.output(`grad ${names[i]}`, grad));
  return b;
}

type Weights = Readonly<Record<string, readonly number[]>>;

function referenceLoss(w: Weights): number {
  const [table, norm, query, gate] = [w['table'], w['norm'], w['query'], w['gate']] as [number[], number[], number[], number[]];
  const x = tokens.map((t) => table.slice(t * WIDTH, (t + 1) * WIDTH));
  const h = x.map((row) => row.map((v, i) => (v / Math.sqrt(dot(row, row) / WIDTH + EPS)) * at(norm, i)));
  const q = h.map((row, p) => rotate(row.map((_, j) => row.reduce((s, v, i) => s + v * at(query, i * WIDTH + j), 0)), p));
  const loss = h.map((row, p) => {
    const scores = q.slice(0, p + 1).map((k) => Math.exp(0.5 * dot(q[p] as number[], k)));
    const total = scores.reduce((a, b) => a + b, 0);
    const y = row.map((_, j) => {
      const g = dot(row, gate.slice(j * WIDTH, (j + 1) * WIDTH));
      const mixed = scores.reduce((s, e, r) => s + (e / total) * at(h[r] as number[], j), 0);
      return at(x[p] as number[], j) + (g / (1 + Math.exp(-g))) * mixed;
    });
    const logits = Array.from({ length: VOCAB }, (_, v) => dot(y, table.slice(v * WIDTH, (v + 1) * WIDTH)));
    return Math.log(logits.reduce((s, v) => s + Math.exp(v), 0)) - at(logits, at(targets, p));
  });
  return loss.reduce((a, b) => a + b, 0) / LENGTH;
}

function rotate(row: number[], position: number): number[] {
  const half = WIDTH / 2;
  return row.map((v, i) => {
    const a = angle(position, i % half);
    return i < half ? v * Math.cos(a) - at(row, i + half) * Math.sin(a) : v * Math.cos(a) + at(row, i - half) * Math.sin(a);
  });
}

/** Central differences of the reference; its truncation and rounding errors are near 1e-9. */
function differences(name: string): number[] {
  const base = weights[name] as number[];
  const moved = (i: number, h: number) => referenceLoss({ ...weights, [name]: base.map((v, j) => (j === i ? v + h : v)) });
  return base.map((_, i) => (moved(i, 1e-5) - moved(i, -1e-5)) / 2e-5);
}

function compare(provider: string, what: string, actual: ArrayLike<number | bigint> | undefined, expected: number[]): void {
  const scale = Math.max(...expected.map(Math.abs));
  const error = Math.max(...expected.map((e, i) => Math.abs(Number(actual?.[i]) - e))) / scale;
  if (error < WORST_RELATIVE_ERROR) return;
  throw new TrainerError('environment',
    `The provider "${provider}" computes wrong results on this machine: ${what} is off by ${significant(error * 100, 2)} %. Choose another one, for example "cpu".`);
}

function initial(shape: Shape, seed: number): number[] {
  const count = shape.reduce((a, b) => a * b, 1);
  return Array.from({ length: count }, (_, i) => Math.sin(1.7 * i + seed) * 0.8 + (shape.length === 1 ? 1 : 0));
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((s, v, i) => s + v * at(b, i), 0);
}

function at(a: readonly number[], i: number): number {
  return a[i] as number;
}
