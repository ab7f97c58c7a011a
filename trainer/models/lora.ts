import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import type { GraphBuilder, Value } from '../engine/graph.ts';
import type { Tensor } from '../engine/tensor.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { LoraTarget } from '../protocol/lora-config.ts';
import type { DecoderConfig } from './decoder-config.ts';
import type { Weights } from './decoder.ts';
import { parameterShapes } from './parameters.ts';
import { withTwoRows } from './two-rows.ts';
import { allocateBlock, type ParameterBlock } from './weights.ts';

/** Low-rank adaptation (Hu et al. 2021): W x becomes W x + scale · B (A x), with A [rank, in] and B [out, rank], for the layers named by `targets`. */
export interface LoraSettings {
  rank: number;
  alpha: number;
  targets: readonly LoraTarget[];
  /** Scale alpha / √rank (Kalajdzievski 2023) instead of alpha / rank. */
  rslora: boolean;
}

/** Trained factors, by the names of `factorShapes`. */
export interface Adapter { settings: LoraSettings; factors: ParameterBlock }

export function loraScale({ rank, alpha, rslora }: LoraSettings): number {
  return alpha / (rslora ? Math.sqrt(rank) : rank);
}

/** Names and shapes of the factors: those of PEFT, less its prefix "base_model.model.". */
export function factorShapes(config: DecoderConfig, { rank, targets }: LoraSettings): Map<string, number[]> {
  const shapes = new Map<string, number[]>();
  for (const [name, [out = 0, input = 0]] of parameterShapes(config)) {
    if (!isTarget(name, targets)) continue;
    const { a, b } = factorsOf(name);
    shapes.set(a, [rank, input]);
    shapes.set(b, [out, rank]);
  }
  return shapes;
}

/** Throws TrainerError `bad_input` for a rank that no matrix of the model can have: factors would be larger than what they stand for. `setting` is where it was given. */
export function requireRank({ hidden }: DecoderConfig, rank: number, setting: string): void {
  if (rank > hidden) throw new TrainerError('bad_input', `${setting} is ${rank}, but no matrix of the model has a rank above ${hidden} (its hidden size). Give at most that, best 8 to 64.`);
}

/** A uniform in ±1/√in (Kaiming's with a = √5, as in PEFT), B zero: the model is at first exactly the one without factors. The same seed gives the same factors. Throws TrainerError `bad_input` as `requireRank`. */
export function initialFactors(config: DecoderConfig, settings: LoraSettings, seed: number): ParameterBlock {
  requireRank(config, settings.rank, 'model.lora_rank');
  const block = allocateBlock(factorShapes(config, settings));
  const rng = xoroshiro128plus(Math.imul(seed ^ 0x2545f491, 0x9e3779b1));
  for (let i = 0; i < 32; i++) rng.next(); // nearby seeds start with nearby states
  for (const [name, { data, shape }] of block.tensors) {
    if (!name.endsWith('.lora_A.weight')) continue;
    const bound = 1 / Math.sqrt(shape[1] as number);
    for (let i = 0; i < data.length; i++) data[i] = bound * (2 * uniformFloat64(rng) - 1);
  }
  return block;
}

/** B A x for A [rank, in] and B [out, rank], times `alpha`. */
export type LowRank = (b: GraphBuilder, x: Value, down: Value, up: Value, alpha: number) => Value;

export const lowRank: LowRank = (b, x, down, up, alpha) => b.matmul(b.matmul(x, down, { transB: true }), up, { transB: true, alpha });

/**
 * The same in an order of summation that does not depend on the number of rows, for a sampler whose answers repeat bit for bit. Where columns
 * are dealt to threads, the CPU's kernels sum more than 16 columns, or rows of more than 128 values, in an order that depends on how.
 */
export const steadyLowRank: LowRank = (b, x, down, up, alpha) => withTwoRows(b, x, (rows) => {
  const products = pieces(0, down.shape[0] as number, 128).map(([from, to]) => {
    const inner = pieces(from, to, 16).map(([first, end]) => b.matmul(rows, part(b, down, 0, first, end), { transB: true }));
    return b.matmul(inner.length === 1 ? inner[0] as Value : b.concat(inner, -1), part(b, up, 1, from, to), { transB: true, alpha });
  });
  return products.reduce((sum, term) => b.add(sum, term));
});

/** Weights whose targets have factors added to them. */
export function withFactors(b: GraphBuilder, weights: Weights, factor: (name: string) => Value, settings: LoraSettings, product: LowRank = lowRank): Weights {
  return {
    ...weights,
    linear(x, name) {
      const whole = weights.linear(x, name);
      if (!isTarget(name, settings.targets)) return whole;
      const names = factorsOf(name);
      return b.add(whole, product(b, x, factor(names.a), factor(names.b), loraScale(settings)));
    },
  };
}

/** Adds scale · B A to the values of the matrix `name`, in place and summed in float64; other parameters stay as they are. */
export function addFactors(name: string, { data, shape: [out = 0, input = 0] }: Tensor<'float32'>, { settings, factors }: Adapter): void {
  const names = factorsOf(name);
  const [a, b] = [factors.tensors.get(names.a)?.data, factors.tensors.get(names.b)?.data];
  if (!a || !b) return;
  const { rank } = settings;
  const scale = loraScale(settings);
  const row = new Float64Array(input);
  for (let o = 0; o < out; o++) {
    row.fill(0);
    for (let r = 0; r < rank; r++) {
      const factor = scale * (b[o * rank + r] as number);
      for (let i = 0; i < input; i++) row[i] = (row[i] as number) + factor * (a[r * input + i] as number);
    }
    for (let i = 0; i < input; i++) data[o * input + i] = (data[o * input + i] as number) + (row[i] as number);
  }
}

function pieces(from: number, to: number, most: number): [number, number][] {
  return Array.from({ length: Math.ceil((to - from) / most) }, (_, i) => [from + i * most, Math.min(from + (i + 1) * most, to)]);
}

function part(b: GraphBuilder, x: Value, axis: number, from: number, to: number): Value {
  return from === 0 && to === x.shape[axis] ? x : b.slice(x, axis, from, to);
}

function factorsOf(name: string): { a: string; b: string } {
  const layer = name.slice(0, -'.weight'.length);
  return { a: `${layer}.lora_A.weight`, b: `${layer}.lora_B.weight` };
}

function isTarget(name: string, targets: readonly LoraTarget[]): boolean {
  const [module, kind] = name.split('.').slice(-2);
  return kind === 'weight' && targets.some((target) => target === module);
}
