import { TrainerError } from '../protocol/errors.ts';
import type { DpoMetrics, ExampleSettings, PreferencePair } from '../protocol/policy.ts';
import type { ParameterBlock } from '../models/weights.ts';
import type { Learner } from './learner.ts';
import { longestRow, microBatches, trainedTokens } from './micro-batches.ts';
import { rowLogprobs } from './row-logprobs.ts';

/**
 * One optimiser step of direct preference optimisation (Rafailov et al. 2023): loss = mean of -log sigmoid(h) over the pairs,
 * h = beta · ((log p - log ref of the chosen) - (log p - log ref of the rejected)), log-probabilities summed over the answer.
 * Its gradient by a token's log-probability is known once h is, -(+1 chosen, -1 rejected) · beta · sigmoid(-h) / pairs, so the step
 * is a supervised one with these weights, and the rows of a pair need not share a micro-batch.
 * Throws TrainerError `numeric` on a non-finite gradient, weights unchanged.
 */
export async function dpoStep(learner: Learner, pairs: readonly PreferencePair[], settings: ExampleSettings & { beta: number }, reference: ParameterBlock): Promise<DpoMetrics> {
  learner.gradientCheckpointing = settings.enable_gradient_checkpointing;
  const answers = pairs.flatMap(({ chosen, rejected }, pair) => [...chosen.map((row) => ({ row, pair, sign: 1 })), ...rejected.map((row) => ({ row, pair, sign: -1 }))]);
  const rows = answers.map(({ row }) => row);
  const [now, before] = [await rowLogprobs(learner, rows, settings.micro_batch_tokens), await rowLogprobs(learner, rows, settings.micro_batch_tokens, reference)];
  const margins = new Float64Array(pairs.length);
  answers.forEach(({ pair, sign }, i) => {
    const logRatio = now[i]!.reduce((sum, logprob, t) => sum + logprob - before[i]![t]!, 0);
    margins[pair]! += sign * settings.beta * logRatio;
  });

  const trained_tokens = trainedTokens(rows);
  if (trained_tokens === 0) throw new TrainerError('bad_input', 'None of the answers has a token to train on (every mask is 0).');
  await learner.fitting(settings.micro_batch_tokens, longestRow(rows), async (maxTokens) => {
    learner.zeroGradients();
    for (const batch of microBatches(rows, maxTokens, learner.config)) {
      const weight = Float32Array.from(batch.origins, ({ row }) => {
        const { pair, sign } = answers[row]!;
        return (sign * settings.beta * sigmoid(-margins[pair]!)) / pairs.length;
      });
      await learner.backward(batch, { kind: 'supervised' }, { perToken: { weight }, scalars: {} });
    }
  });
  const grad_norm = learner.step(settings);
  return {
    loss: mean(margins.map((margin) => softplus(-margin))),
    accuracy: mean(margins.map((margin) => (margin > 0 ? 1 : 0))),
    margin: mean(margins), grad_norm, trained_tokens, ...learner.memory,
  };
}

function mean(values: Float64Array): number { return values.reduce((sum, value) => sum + value, 0) / values.length; }

function sigmoid(x: number): number { return 1 / (1 + Math.exp(-x)); }

/** log(1 + e^x), also where e^x overflows. */
function softplus(x: number): number { return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))); }
