import type { DecoderConfig } from '../models/decoder-config.ts';
import type { ParameterBlock } from '../models/weights.ts';
import { Learner } from './learner.ts';
import { microBatches } from './micro-batches.ts';
import type { EngineOptions } from './sessions.ts';

/** A text to learn: the tokens with mask 1 are predicted from all before them. */
export interface SupervisedRow { tokens: ArrayLike<number>; mask: ArrayLike<number> }

export interface SupervisedSettings {
  steps: number;
  lr: number;
  /** Linear warm-up, then cosine decay to `final_lr_share` of `lr`. */
  warmup_steps: number;
  final_lr_share: number;
  betas: [number, number];
  weight_decay: number;
  max_grad_norm: number;
  micro_batch_tokens: number;
}

export interface SupervisedStep { step: number; loss: number; grad_norm: number; lr: number; tokens: number; seconds: number }

/**
 * Next-token training: loss = mean negative log-likelihood (nats) of the trained tokens of each batch. Changes `weights` in place.
 * `batch(step)` gives the rows of a step, counted from 0. Deterministic for given weights, batches and threads.
 * Throws TrainerError `numeric` on a non-finite gradient.
 */
export async function trainSupervised(options: {
  config: DecoderConfig;
  weights: ParameterBlock;
  engine: EngineOptions;
  settings: SupervisedSettings;
  batch: (step: number) => SupervisedRow[];
  onStep?: (step: SupervisedStep) => void | Promise<void>;
}): Promise<void> {
  const { config, weights, engine, settings, batch, onStep } = options;
  const learner = new Learner(config, weights, engine);
  try {
    for (let step = 0; step < settings.steps; step++) {
      const started = performance.now();
      const lr = learningRate(step, settings);
      const parts = microBatches(batch(step).map((row) => ({ ...row, temperature: 1 })), settings.micro_batch_tokens);
      const tokens = parts.reduce((sum, part) => sum + part.origins.length, 0);
      learner.zeroGradients();
      let loss = 0;
      for (const part of parts) {
        const weight = new Float32Array(part.origins.length).fill(1 / tokens);
        loss += (await learner.backward(part, { kind: 'supervised' }, { perToken: { weight }, scalars: {} })).loss;
      }
      const gradNorm = await learner.step({ ...settings, lr });
      await onStep?.({ step: step + 1, loss, grad_norm: gradNorm, lr, tokens, seconds: (performance.now() - started) / 1000 });
    }
  } finally {
    await learner.release();
  }
}

function learningRate(step: number, { steps, lr, warmup_steps: warmup, final_lr_share: final }: SupervisedSettings): number {
  if (step < warmup) return (lr * (step + 1)) / warmup;
  const progress = (step - warmup) / Math.max(1, steps - warmup);
  return lr * (final + (1 - final) * 0.5 * (1 + Math.cos(Math.PI * progress)));
}
