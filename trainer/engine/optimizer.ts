import { TrainerError } from '../protocol/errors.ts';
import { compile, type CompileOptions, type Executable, type Tensors } from './executor.ts';
import { GraphBuilder } from './graph.ts';
import { allocateBlock, type ParameterBlock } from './parameter-block.ts';
import { describe, wrap, type Tensor, type ValueType } from './tensor.ts';

/** Elements per run of the update: what a run touches stays in the processor's cache, where whole tensors would go through memory at every operator. */
const CHUNK = 2 ** 17;

export interface AdamWSettings {
  readonly beta1: number;
  readonly beta2: number;
  readonly eps: number;
  readonly weightDecay: number;
  /** Gradients longer than this (global L2 norm over all tensors) are scaled down to it. Infinity: never. */
  readonly maxGradNorm: number;
}

/** Moments by parameter name and the number of steps taken: with the weights, all that a resumed run needs. */
export interface AdamWState {
  step: number;
  readonly firstMoments: Readonly<Record<string, Tensor>>;
  readonly secondMoments: Readonly<Record<string, Tensor>>;
}

export type StepReport =
  /** `gradNorm` before clipping. */
  | { readonly applied: true; readonly gradNorm: number }
  /** Nothing was changed: these gradients hold NaN, infinities or values whose square overflows float32. */
  | { readonly applied: false; readonly nonFinite: readonly string[] };

/**
 * AdamW (Loshchilov & Hutter 2019), bias-corrected, decay applied to every parameter:
 *   m ← β1 m + (1−β1) g,  v ← β2 v + (1−β2) g²,  w ← w (1 − lr λ) − lr m̂ / (√v̂ + ε),  m̂ = m/(1−β1ᵗ),  v̂ = v/(1−β2ᵗ).
 * Two graphs: the norms are looked at on the host before the update may touch anything.
 */
export class AdamW {
  readonly state: AdamWState;
  readonly #moments: readonly [first: ParameterBlock, second: ParameterBlock];
  readonly #settings: AdamWSettings;
  readonly #names: readonly string[];
  readonly #norms: Executable;
  readonly #update: Executable;

  /** Use `createAdamW`. */
  constructor(settings: AdamWSettings, moments: readonly [ParameterBlock, ParameterBlock], norms: Executable, update: Executable) {
    this.#settings = settings;
    this.#moments = moments;
    this.state = { step: 0, firstMoments: Object.fromEntries(moments[0].tensors), secondMoments: Object.fromEntries(moments[1].tensors) };
    this.#names = [...moments[0].tensors.keys()];
    this.#norms = norms;
    this.#update = update;
  }

  /** One step: writes `weights` and the moments in place, unless a gradient is not finite. Both blocks hold the parameters the optimizer was made for. */
  async step(weights: ParameterBlock, gradients: ParameterBlock, learningRate: number): Promise<StepReport> {
    const { squares } = await this.#norms.run(Object.fromEntries(gradients.tensors));
    const perTensor = Array.from((squares as Tensor).data, Number);
    const nonFinite = this.#names.filter((_, i) => !Number.isFinite(perTensor[i]));
    if (nonFinite.length > 0) return { applied: false, nonFinite };

    const gradNorm = Math.sqrt(perTensor.reduce((a, b) => a + b, 0));
    const { beta1, beta2, weightDecay, maxGradNorm } = this.#settings;
    const t = this.state.step + 1;
    const scalars = {
      scale: gradNorm > maxGradNorm ? maxGradNorm / gradNorm : 1,
      keep: 1 - learningRate * weightDecay,
      rate: learningRate / (1 - beta1 ** t),
      correction: 1 / Math.sqrt(1 - beta2 ** t),
    };
    const inputs = Object.fromEntries(Object.entries(scalars).map(([name, value]) => [name, wrap('float32', [], Float32Array.of(value))]));
    await this.#updateAll({ g: gradients.flat, w: weights.flat, m: this.#moments[0].flat, v: this.#moments[1].flat }, inputs);
    this.state.step = t;
    return { applied: true, gradNorm };
  }

  /** Continues from saved moments. Throws when they belong to other parameters. */
  load(saved: AdamWState): void {
    for (const kind of ['firstMoments', 'secondMoments'] as const) {
      for (const name of this.#names) {
        const [own, given] = [this.state[kind][name] as Tensor, saved[kind][name]];
        if (given?.data.length !== own.data.length) {
          throw new TrainerError('bad_input', `The saved optimizer state does not fit the model: ${kind} of "${name}" is ${given ? describe(given) : 'missing'}, expected ${describe(own)}.`);
        }
        (own.data as Float32Array).set(given.data as Float32Array);
      }
    }
    this.state.step = saved.step;
  }

  async release(): Promise<void> {
    await this.#norms.release();
    await this.#update.release();
  }

  async #updateAll(flat: Record<'g' | 'w' | 'm' | 'v', Float32Array>, scalars: Tensors): Promise<void> {
    const run = (part: (data: Float32Array) => Float32Array) => {
      const tensors = Object.fromEntries(Object.entries(flat).map(([name, data]) => [name, wrap('float32', [CHUNK], part(data))]));
      return this.#update.run({ ...tensors, ...scalars }, { 'new w': tensors['w'] as Tensor, 'new m': tensors['m'] as Tensor, 'new v': tensors['v'] as Tensor });
    };
    const whole = flat.w.length - (flat.w.length % CHUNK);
    for (let start = 0; start < whole; start += CHUNK) await run((data) => data.subarray(start, start + CHUNK));
    if (whole === flat.w.length) return;
    const rest = new Map<Float32Array, Float32Array>();
    await run((data) => {
      const padded = new Float32Array(CHUNK);
      padded.set(data.subarray(whole));
      rest.set(data, padded);
      return padded;
    });
    for (const [data, padded] of rest) data.set(padded.subarray(0, data.length - whole), whole);
  }
}

/** An optimizer for these float32 parameters, its moments zero. */
export async function createAdamW(parameters: ReadonlyMap<string, ValueType>, settings: AdamWSettings, options: CompileOptions): Promise<AdamW> {
  const moments = () => allocateBlock(parameters);
  const norms = await compile(normGraph(parameters), options);
  return new AdamW(settings, [moments(), moments()], norms, await compile(updateGraph(settings), options));
}

function normGraph(parameters: ReadonlyMap<string, ValueType>): GraphBuilder {
  const b = new GraphBuilder();
  const squares = [...parameters].map(([name, { shape }]) => b.reshape(b.reduceSum(b.square(b.input(name, 'float32', shape))), [1]));
  b.output('squares', b.concat(squares, 0));
  return b;
}

/** The update of CHUNK elements, whichever tensors they belong to. */
function updateGraph({ beta1, beta2, eps }: AdamWSettings): GraphBuilder {
  const b = new GraphBuilder();
  const scalar = (name: string) => b.input(name, 'float32', []);
  const [scale, keep, rate, correction] = [scalar('scale'), scalar('keep'), scalar('rate'), scalar('correction')];
  const part = (name: string) => b.input(name, 'float32', [CHUNK]);
  const [g, w, m, v] = [part('g'), part('w'), part('m'), part('v')];
  const gradient = b.mul(g, scale);
  const first = b.add(b.mul(m, beta1), b.mul(gradient, 1 - beta1));
  const second = b.add(b.mul(v, beta2), b.mul(b.square(gradient), 1 - beta2));
  const direction = b.div(first, b.add(b.mul(b.sqrt(second), correction), eps));
  b.output('new w', b.sub(b.mul(w, keep), b.mul(direction, rate)));
  b.output('new m', first);
  b.output('new v', second);
  return b;
}
