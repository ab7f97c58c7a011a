import { TrainerError } from '../protocol/errors.ts';
import { adamwKernel } from './adamw-kernel.ts';
import { allocateBlock, type ParameterBlock } from './parameter-block.ts';
import { describe, type Tensor, type ValueType } from './tensor.ts';

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
 * Weights, gradients and moments are the host's, so it runs there whatever computed the gradients.
 */
export class AdamW {
  readonly state: AdamWState;
  readonly #moments: readonly [first: ParameterBlock, second: ParameterBlock];
  readonly #settings: AdamWSettings;
  readonly #names: readonly string[];
  readonly #update = adamwKernel();

  /** For these float32 parameters, the moments zero. */
  constructor(parameters: ReadonlyMap<string, ValueType>, settings: AdamWSettings) {
    this.#settings = settings;
    this.#moments = [allocateBlock(parameters), allocateBlock(parameters)];
    this.state = { step: 0, firstMoments: Object.fromEntries(this.#moments[0].tensors), secondMoments: Object.fromEntries(this.#moments[1].tensors) };
    this.#names = [...parameters.keys()];
  }

  /** One step: writes `weights` and the moments in place, unless a gradient is not finite. Both blocks hold the parameters the optimizer was made for. */
  step(weights: ParameterBlock, gradients: ParameterBlock, learningRate: number): StepReport {
    const perTensor = this.#names.map((name) => sumOfSquares(gradients.tensors.get(name)?.data as Float32Array));
    const nonFinite = this.#names.filter((_, i) => !Number.isFinite(perTensor[i]));
    if (nonFinite.length > 0) return { applied: false, nonFinite };

    const gradNorm = Math.sqrt(perTensor.reduce((a, b) => a + b, 0));
    const { beta1, beta2, eps, weightDecay, maxGradNorm } = this.#settings;
    const t = this.state.step + 1;
    this.#update({ gradient: gradients.flat, weight: weights.flat, first: this.#moments[0].flat, second: this.#moments[1].flat }, {
      scale: gradNorm > maxGradNorm ? maxGradNorm / gradNorm : 1,
      keep: 1 - learningRate * weightDecay,
      rate: learningRate / (1 - beta1 ** t),
      correction: 1 / Math.sqrt(1 - beta2 ** t),
      beta1, rest1: 1 - beta1, beta2, rest2: 1 - beta2, eps,
    });
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
}

/** Infinite when it does not fit into float32. */
function sumOfSquares(values: Float32Array): number {
  let [a, b, c, d] = [0, 0, 0, 0]; // additions that wait for each other would take most of the time
  const whole = values.length - (values.length % 4);
  for (let i = 0; i < whole; i += 4) {
    a += (values[i] as number) ** 2;
    b += (values[i + 1] as number) ** 2;
    c += (values[i + 2] as number) ** 2;
    d += (values[i + 3] as number) ** 2;
  }
  for (let i = whole; i < values.length; i++) a += (values[i] as number) ** 2;
  const sum = a + b + c + d;
  return Number.isFinite(Math.fround(sum)) ? sum : Math.fround(sum);
}
