import { TrainerError } from '../protocol/errors.ts';
import type { ExampleSettings, SftMetrics } from '../protocol/policy.ts';
import type { DecoderConfig } from '../models/decoder-config.ts';
import { wholeModel } from '../models/policy-weights.ts';
import type { ParameterBlock } from '../models/weights.ts';
import { Learner } from './learner.ts';
import { longestRow, microBatches, trainedTokens } from './micro-batches.ts';
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
  const learner = new Learner(config, wholeModel(weights), engine);
  try {
    for (let step = 0; step < settings.steps; step++) {
      const started = performance.now();
      const lr = learningRate(step, settings);
      const { loss, grad_norm, trained_tokens } = await supervisedStep(learner, batch(step), { ...settings, lr });
      await onStep?.({ step: step + 1, loss, grad_norm, lr, tokens: trained_tokens, seconds: (performance.now() - started) / 1000 });
    }
  } finally {
    await learner.release();
  }
}

/** One optimiser step; loss = mean negative log-likelihood (nats) of the trained tokens. Throws TrainerError `numeric` on a non-finite gradient, weights unchanged. */
export async function supervisedStep(learner: Learner, rows: readonly SupervisedRow[], settings: ExampleSettings): Promise<SftMetrics> {
  const tokens = trainedTokens(rows);
  if (tokens === 0) throw new TrainerError('bad_input', 'None of the rows has a token to train on (every mask is 0).');
  learner.gradientCheckpointing = settings.enable_gradient_checkpointing;
  const total = await learner.fitting(settings.micro_batch_tokens, longestRow(rows), async (maxTokens) => {
    learner.zeroGradients();
    const sum = { loss: 0, entropy: 0 };
    for (const part of microBatches(rows.map((row) => ({ ...row, temperature: 1 })), maxTokens, learner.config)) {
      const weight = new Float32Array(part.origins.length).fill(1 / tokens);
      const { loss, entropy } = await learner.backward(part, { kind: 'supervised' }, { perToken: { weight }, scalars: {} });
      sum.loss += loss;
      sum.entropy += entropy.reduce((a, b) => a + b, 0);
    }
    return sum;
  });
  const grad_norm = learner.step(settings);
  return { loss: total.loss, entropy: total.entropy / tokens, grad_norm, trained_tokens: tokens, ...learner.memory };
}

function learningRate(step: number, { steps, lr, warmup_steps: warmup, final_lr_share: final }: SupervisedSettings): number {
  if (step < warmup) return (lr * (step + 1)) / warmup;
  const progress = (step - warmup) / Math.max(1, steps - warmup);
  return lr * (final + (1 - final) * 0.5 * (1 + Math.cos(Math.PI * progress)));
}
