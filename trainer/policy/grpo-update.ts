import { TrainerError } from '../protocol/errors.ts';
import type { TrainRow, UpdateMetrics, UpdateSettings } from '../protocol/policy.ts';
import { k3Limit } from '../models/training-graph.ts';
import type { ParameterBlock } from '../models/weights.ts';
import type { Learner, ObjectiveInputs, TokenResults } from './learner.ts';
import { microBatches, type MicroBatch } from './micro-batches.ts';

/**
 * One policy update: `ppo_epochs` optimiser steps, each over all rows, gradients accumulated over micro-batches.
 * loss, kl, entropy, clip_fraction and grad_norm are means over the epochs; ratio_deviation (mean |r - 1|) and logprob_max_diff (nats) compare the
 * sampler with the trainer before the first step.
 * Throws TrainerError `numeric` on a non-finite gradient, the weights as before; `bad_input` for rows that cannot be trained on.
 */
export async function grpoUpdate(learner: Learner, rows: readonly TrainRow[], settings: UpdateSettings, reference: ParameterBlock | null): Promise<UpdateMetrics> {
  rows.forEach(checkRow);
  const withKl = settings.kl_loss_coef > 0;
  if (withKl && !reference) throw new TrainerError('bad_input', 'A KL term needs reference weights. Call setReference before the first update, or set kl_loss_coef to 0.');
  const batches = microBatches(rows, settings.micro_batch_tokens);
  const trained = batches.reduce((sum, { origins }) => sum + origins.length, 0);
  if (trained === 0) throw new TrainerError('bad_input', 'None of the rows has a token to train on (every mask is 0).');
  const scalars = { clip_low: settings.clip_ratio_low, clip_high: settings.clip_ratio_high, ...(withKl ? { kl_coef: settings.kl_loss_coef } : {}) };
  const inputs: ObjectiveInputs[] = [];
  for (const batch of batches) {
    const pick = (of: (row: TrainRow) => number[]) => Float32Array.from(batch.origins, ({ row, at }) => of(rows[row] as TrainRow)[at] as number);
    const perToken = {
      weight: pick((row) => row.weights), advantage: pick((row) => row.advantages), old_logprob: pick((row) => row.old_logprobs),
      ...(withKl ? { ref_logprob: await learner.logprobs(batch, reference as ParameterBlock) } : {}),
    };
    inputs.push({ perToken, scalars });
  }

  const before = settings.ppo_epochs > 1 ? learner.snapshot() : null;
  const total = { loss: 0, kl: 0, entropy: 0, clipped: 0, norm: 0, deviation: 0, maxDiff: 0 };
  try {
    for (let epoch = 0; epoch < settings.ppo_epochs; epoch++) {
      learner.zeroGradients();
      for (const [i, batch] of batches.entries()) {
        const input = inputs[i] as ObjectiveInputs;
        const result = await learner.backward(batch, { kind: 'grpo', kl: withKl ? settings.kl_loss_type : 'none' }, input);
        const seen = observe(batch, input, result, settings);
        total.loss += result.loss;
        total.entropy += seen.entropy;
        total.kl += seen.kl;
        total.clipped += seen.clipped;
        if (epoch > 0) continue;
        total.deviation += seen.deviation;
        total.maxDiff = Math.max(total.maxDiff, seen.maxDiff);
      }
      total.norm += await learner.step(settings);
    }
  } catch (error) {
    if (before) await learner.rollback(before);
    throw error;
  }
  const epochs = settings.ppo_epochs;
  return {
    loss: total.loss / epochs,
    kl: withKl ? total.kl / trained / epochs : null,
    entropy: total.entropy / trained / epochs,
    clip_fraction: total.clipped / trained / epochs,
    grad_norm: total.norm / epochs,
    ratio_deviation: total.deviation / trained,
    logprob_max_diff: total.maxDiff,
    trained_tokens: trained,
  };
}

/** Log-probabilities of the masked tokens of each row under the learner's weights; 0 elsewhere. */
export async function rowLogprobs(learner: Learner, rows: readonly Pick<TrainRow, 'tokens' | 'mask' | 'temperature'>[], maxTokens: number): Promise<Float32Array[]> {
  const results = rows.map(({ tokens }) => new Float32Array(tokens.length));
  for (const batch of microBatches(rows, maxTokens)) {
    const logprobs = await learner.logprobs(batch);
    batch.origins.forEach(({ row, at }, n) => { (results[row] as Float32Array)[at] = logprobs[n] as number; });
  }
  return results;
}

function observe({ origins }: MicroBatch, { perToken }: ObjectiveInputs, { logprob, entropy }: TokenResults, settings: UpdateSettings) {
  const seen = { entropy: 0, kl: 0, clipped: 0, deviation: 0, maxDiff: 0 };
  for (let n = 0; n < origins.length; n++) {
    const at = (name: string) => perToken[name]?.[n] ?? 0;
    const now = logprob[n] as number;
    const ratio = Math.exp(now - at('old_logprob'));
    const advantage = at('advantage');
    if (advantage > 0 ? ratio > 1 + settings.clip_ratio_high : advantage < 0 && ratio < 1 - settings.clip_ratio_low) seen.clipped += 1;
    seen.entropy += entropy[n] as number;
    seen.deviation += Math.abs(ratio - 1);
    seen.maxDiff = Math.max(seen.maxDiff, Math.abs(now - at('old_logprob')));
    const d = now - at('ref_logprob');
    seen.kl += settings.kl_loss_type === 'k1' ? d : settings.kl_loss_type === 'k2' ? d ** 2 / 2 : Math.min(Math.exp(-d) + d - 1, k3Limit);
  }
  return seen;
}

function checkRow(row: TrainRow, index: number): void {
  const refuse = (problem: string) => new TrainerError('bad_input', `Training row ${index} cannot be used: ${problem}.`);
  const length = row.tokens.length;
  for (const field of ['mask', 'advantages', 'old_logprobs', 'weights'] as const) {
    if (row[field].length !== length) throw refuse(`it has ${length} tokens but ${row[field].length} ${field}`);
  }
  if (row.mask[0]) throw refuse('its first token is trained, but nothing predicts it');
  for (const field of ['advantages', 'old_logprobs', 'weights'] as const) {
    const at = row[field].findIndex((value) => !Number.isFinite(value));
    if (at >= 0) throw refuse(`${field}[${at}] is ${row[field][at]}`);
  }
}
