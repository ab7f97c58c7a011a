import { TrainerError } from '../protocol/errors.ts';
import { compile, type CompileOptions, type Executable, type Tensors } from './executor.ts';
import { GraphBuilder } from './graph.ts';
import { describe, zeros, type Tensor, type ValueType } from './tensor.ts';

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
  readonly #settings: AdamWSettings;
  readonly #names: readonly string[];
  readonly #norms: Executable;
  readonly #update: Executable;

  /** Use `createAdamW`. */
  constructor(settings: AdamWSettings, state: AdamWState, norms: Executable, update: Executable) {
    this.#settings = settings;
    this.state = state;
    this.#names = Object.keys(state.firstMoments);
    this.#norms = norms;
    this.#update = update;
  }

  /** One step: writes `weights` and the moments in place, unless a gradient is not finite. Both records are keyed by parameter name. */
  async step(weights: Tensors, gradients: Tensors, learningRate: number): Promise<StepReport> {
    const feeds = this.#named('g', gradients);
    const { squares } = await this.#norms.run(feeds);
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
    const updated = { ...this.#named('w', weights), ...this.#named('m', this.state.firstMoments), ...this.#named('v', this.state.secondMoments) };
    const inputs = Object.fromEntries(Object.entries(scalars).map(([name, value]) => [name, { dtype: 'float32', shape: [], data: Float32Array.of(value) } as const]));
    await this.#update.run({ ...feeds, ...updated, ...inputs }, prefixed('new ', updated));
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

  #named(prefix: string, tensors: Tensors): Record<string, Tensor> {
    return prefixed(`${prefix} `, Object.fromEntries(this.#names.flatMap((name) => (tensors[name] ? [[name, tensors[name]]] : []))));
  }
}

/** An optimizer for these float32 parameters, its moments zero. */
export async function createAdamW(parameters: ReadonlyMap<string, ValueType>, settings: AdamWSettings, options: CompileOptions): Promise<AdamW> {
  const moments = () => Object.fromEntries([...parameters].map(([name, { shape }]) => [name, zeros('float32', shape)]));
  const state = { step: 0, firstMoments: moments(), secondMoments: moments() };
  const norms = await compile(normGraph(parameters), options);
  return new AdamW(settings, state, norms, await compile(updateGraph(parameters, settings), options));
}

function normGraph(parameters: ReadonlyMap<string, ValueType>): GraphBuilder {
  const b = new GraphBuilder();
  const squares = [...parameters].map(([name, { shape }]) => b.reshape(b.reduceSum(b.square(b.input(`g ${name}`, 'float32', shape))), [1]));
  b.output('squares', b.concat(squares, 0));
  return b;
}

function updateGraph(parameters: ReadonlyMap<string, ValueType>, { beta1, beta2, eps }: AdamWSettings): GraphBuilder {
  const b = new GraphBuilder();
  const scalar = (name: string) => b.input(name, 'float32', []);
  const [scale, keep, rate, correction] = [scalar('scale'), scalar('keep'), scalar('rate'), scalar('correction')];
  for (const [name, { shape }] of parameters) {
    const tensor = (kind: string) => b.input(`${kind} ${name}`, 'float32', shape);
    const [g, w, m, v] = [tensor('g'), tensor('w'), tensor('m'), tensor('v')];
    const gradient = b.mul(g, scale);
    const first = b.add(b.mul(m, beta1), b.mul(gradient, 1 - beta1));
    const second = b.add(b.mul(v, beta2), b.mul(b.square(gradient), 1 - beta2));
    const direction = b.div(first, b.add(b.mul(b.sqrt(second), correction), eps));
    b.output(`new w ${name}`, b.sub(b.mul(w, keep), b.mul(direction, rate)));
    b.output(`new m ${name}`, first);
    b.output(`new v ${name}`, second);
  }
  return b;
}

function prefixed(prefix: string, tensors: Tensors): Record<string, Tensor> {
  return Object.fromEntries(Object.entries(tensors).map(([name, value]) => [prefix + name, value]));
}
