import { TrainerError } from '../protocol/errors.ts';
import type { ParameterBlock } from '../models/weights.ts';
import type { Learner } from './learner.ts';
import { longestRow, microBatches, type TokenRow } from './micro-batches.ts';

/** Log-probabilities, under their formats, of the masked tokens of each row under the learner's weights, or others of the same model; 0 elsewhere. */
export async function rowLogprobs(learner: Learner, rows: readonly TokenRow[], maxTokens: number, weights: ParameterBlock = learner.weights): Promise<Float32Array[]> {
  const results = rows.map(({ tokens }) => new Float32Array(tokens.length));
  await learner.fitting(maxTokens, longestRow(rows), async (fitting) => {
    for (const batch of microBatches(rows, fitting, learner.config)) {
      const logprobs = await learner.logprobs(batch, weights);
      batch.origins.forEach(({ row, at }, n) => { (results[row] as Float32Array)[at] = logprobs[n] as number; });
    }
  });
  return results;
}

export function requireReference(reference: ParameterBlock | null): ParameterBlock {
  if (reference) return reference;
  throw new TrainerError('bad_input', 'A KL term needs reference weights. Call setReference before the first update, or set kl_loss_coef and kl_coef to 0.');
}
