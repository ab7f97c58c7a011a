import { TrainerError } from '../protocol/errors.ts';
import type { TrainRow, UpdateMetrics, UpdateSettings } from '../protocol/policy.ts';
import type { PolicyObjective } from '../models/policy-loss.ts';
import type { ParameterBlock } from '../models/weights.ts';
import { importanceWeighted } from './importance.ts';
import type { Learner, ObjectiveInputs } from './learner.ts';
import { longestRow, microBatches, trainedTokens, type MicroBatch, type TokenRow } from './micro-batches.ts';
import { observe } from './observe-update.ts';
import { requireReference, rowLogprobs } from './row-logprobs.ts';

/** Rows under a format come with the tokens it allowed. */
type Row = TrainRow & Pick<TokenRow, 'allowed'>;

/** Rows of a mini-batch with what their loss needs: `weighted` by importance, and log-probabilities of the reference (null: no KL term). */
interface Prepared { rows: readonly Row[]; weighted: readonly Row[]; reference: Float32Array[] | null }

/**
 * One policy update: `ppo_epochs` passes, each with an optimiser step per mini-batch, gradients accumulated over its micro-batches.
 * loss, kl, entropy, clip_fraction and grad_norm are means over passes and mini-batches; ratio_deviation (mean |r - 1|) and logprob_max_diff (nats)
 * compare the sampler with the trainer before the first step, on the first mini-batch.
 * Throws TrainerError `numeric` on a non-finite gradient, the weights as before; `bad_input` for rows that cannot be trained on.
 */
export async function grpoUpdate(learner: Learner, miniBatches: readonly (readonly Row[])[], settings: UpdateSettings, reference: ParameterBlock | null): Promise<UpdateMetrics> {
  miniBatches.flat().forEach(checkRow);
  const withKl = settings.kl_loss_coef > 0;
  if (withKl) requireReference(reference);
  const objective: PolicyObjective = { kind: 'grpo', kl: withKl ? settings.kl_loss_type : 'none', level: settings.importance_sampling_level, entropy: settings.entropy_coeff > 0 };
  learner.gradientCheckpointing = settings.enable_gradient_checkpointing;
  const steps: Prepared[] = [];
  for (const rows of miniBatches) { // all before the first step moves the weights
    if (trainedTokens(rows) > 0) steps.push(await prepare(learner, rows, settings, withKl ? requireReference(reference) : null));
  }
  const trained = steps.reduce((sum, { rows }) => sum + trainedTokens(rows), 0);
  if (trained === 0) throw new TrainerError('bad_input', 'None of the rows has a token to train on (every mask is 0).');

  const stepCount = settings.ppo_epochs * steps.length;
  const before = stepCount > 1 ? learner.snapshot() : null;
  const total = { loss: 0, kl: 0, entropy: 0, clipped: 0, norm: 0, deviation: 0, maxDiff: 0, compared: 0 };
  try {
    for (let step = 0; step < stepCount; step++) {
      const prepared = steps[step % steps.length] as Prepared;
      const seen = await learner.fitting(settings.micro_batch_tokens, longestRow(prepared.rows), (maxTokens) => gradient(learner, prepared, maxTokens, settings, objective));
      total.loss += seen.loss;
      total.entropy += seen.entropy;
      total.kl += seen.kl;
      total.clipped += seen.clipped;
      if (step === 0) Object.assign(total, { deviation: seen.deviation, maxDiff: seen.maxDiff, compared: trainedTokens(prepared.rows) });
      total.norm += learner.step(settings);
    }
  } catch (error) {
    if (before) learner.rollback(before);
    throw error;
  }
  const epochs = settings.ppo_epochs;
  return {
    loss: total.loss / stepCount,
    kl: withKl ? total.kl / trained / epochs : null,
    entropy: total.entropy / trained / epochs,
    clip_fraction: total.clipped / trained / epochs,
    grad_norm: total.norm / stepCount,
    ratio_deviation: total.deviation / total.compared,
    logprob_max_diff: total.maxDiff,
    trained_tokens: trained,
    ...learner.memory,
  };
}

async function prepare(learner: Learner, rows: readonly Row[], settings: UpdateSettings, reference: ParameterBlock | null): Promise<Prepared> {
  const maxTokens = settings.micro_batch_tokens;
  const weighted = settings.rollout_is === 'none' ? rows : importanceWeighted(rows, await rowLogprobs(learner, rows, maxTokens), settings);
  return { rows, weighted, reference: reference && await rowLogprobs(learner, rows, maxTokens, reference) };
}

/** Gradient of a mini-batch, summed over its micro-batches, and what was seen on the way. */
async function gradient(learner: Learner, prepared: Prepared, maxTokens: number, settings: UpdateSettings, objective: PolicyObjective) {
  learner.zeroGradients();
  const total = { loss: 0, kl: 0, entropy: 0, clipped: 0, deviation: 0, maxDiff: 0 };
  for (const batch of microBatches(prepared.rows, maxTokens, learner.config)) {
    const { inputs, sampled } = batchInputs(batch, prepared, settings, objective);
    const result = await learner.backward(batch, objective, inputs);
    const seen = observe(batch, inputs, sampled, result, settings);
    total.loss += result.loss;
    for (const name of ['kl', 'entropy', 'clipped', 'deviation'] as const) total[name] += seen[name];
    total.maxDiff = Math.max(total.maxDiff, seen.maxDiff);
  }
  return total;
}

/** What the loss of a micro-batch needs, and the sampler's log-probabilities. */
function batchInputs(batch: MicroBatch, { rows, weighted, reference }: Prepared, settings: UpdateSettings, objective: PolicyObjective): { inputs: ObjectiveInputs; sampled: Float32Array } {
  const pick = (of: (row: TrainRow) => number[], from = weighted) => Float32Array.from(batch.origins, ({ row, at }) => of(from[row] as TrainRow)[at] as number);
  const perToken = {
    weight: pick((row) => row.weights), advantage: pick((row) => row.advantages), old_logprob: pick((row) => row.old_logprobs),
    ...(objective.level === 'sequence' ? { sequence_share: Float32Array.from(batch.origins, ({ row }) => 1 / trainedTokens([rows[row] as TrainRow])) } : {}),
    ...(reference ? { ref_logprob: Float32Array.from(batch.origins, ({ row, at }) => reference[row]?.[at] as number) } : {}),
  };
  const scalars = {
    clip_low: settings.clip_ratio_low, clip_high: settings.clip_ratio_high, clip_c: settings.clip_ratio_c,
    ...(objective.kl === 'none' ? {} : { kl_coef: settings.kl_loss_coef }),
    ...(objective.entropy ? { entropy_coeff: settings.entropy_coeff } : {}),
  };
  return { inputs: { perToken, scalars }, sampled: pick((row) => row.old_logprobs, rows) };
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
