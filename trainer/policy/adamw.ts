import { TrainerError } from '../protocol/errors.ts';
import type { ParameterBlock } from '../models/weights.ts';

export interface AdamWSettings { lr: number; betas: [number, number]; weight_decay: number; max_grad_norm: number }

const eps = 1e-8;

/**
 * AdamW (Loshchilov & Hutter 2019): decoupled weight decay, bias-corrected moments, gradients scaled to a global norm of at most `max_grad_norm`.
 * `step` counts from 1. Returns the norm before scaling.
 * Throws TrainerError `numeric` naming the tensor when a gradient is not finite; nothing has been changed then.
 */
export function adamwStep(weights: ParameterBlock, gradients: ParameterBlock, first: Float32Array, second: Float32Array, step: number, settings: AdamWSettings): number {
  const { lr, betas: [beta1, beta2], weight_decay: decay, max_grad_norm: maxNorm } = settings;
  const [w, g] = [weights.flat, gradients.flat];
  let squares = 0;
  for (let i = 0; i < g.length; i++) squares += (g[i] as number) ** 2;
  const norm = Math.sqrt(squares);
  if (!Number.isFinite(norm)) {
    const culprit = [...gradients.tensors].find(([, { data }]) => data.some((x) => !Number.isFinite(x)))?.[0];
    throw new TrainerError('numeric', `The gradient of ${culprit ?? 'the model'} is not finite, so this update was not made. Lower the learning rate, or look for extreme rewards.`, { details: { tensor: culprit } });
  }
  const scale = norm > maxNorm ? maxNorm / norm : 1;
  const rate = lr / (1 - beta1 ** step);
  const correction = 1 / (1 - beta2 ** step);
  for (let i = 0; i < w.length; i++) {
    const x = (g[i] as number) * scale;
    const m = first[i] = beta1 * (first[i] as number) + (1 - beta1) * x;
    const v = second[i] = beta2 * (second[i] as number) + (1 - beta2) * x * x;
    w[i] = (w[i] as number) * (1 - lr * decay) - (rate * m) / (Math.sqrt(v * correction) + eps);
  }
  return norm;
}
