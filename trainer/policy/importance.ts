import type { TrainRow, UpdateSettings } from '../protocol/policy.ts';
import { logRatioLimit } from '../models/policy-loss.ts';

/**
 * Truncated importance sampling (Yao et al. 2025): the rows as if the policy at the start of the update, whose log-probabilities are `old`, had sampled them.
 * Each advantage is multiplied by w = min(old / sampler, threshold), a constant in the gradient; 'sequence' takes the product over the row.
 * The surrogate is linear in A for w >= 0, so this weighs the clipped loss. Its ratio then begins at `old`: nothing is corrected twice.
 */
export function importanceWeighted<Row extends TrainRow>(rows: readonly Row[], old: readonly Float32Array[], { rollout_is, rollout_is_threshold: threshold }: Pick<UpdateSettings, 'rollout_is' | 'rollout_is_threshold'>): Row[] {
  const weightOf = (logRatio: number) => Math.min(Math.exp(Math.max(-logRatioLimit, Math.min(logRatio, logRatioLimit))), threshold);
  return rows.map((row, i) => {
    const logRatios = row.mask.map((trained, t) => (trained ? (old[i]?.[t] as number) - (row.old_logprobs[t] as number) : 0));
    const whole = weightOf(logRatios.reduce((sum, value) => sum + value, 0));
    return {
      ...row,
      old_logprobs: row.mask.map((trained, t) => (trained ? old[i]?.[t] as number : 0)),
      advantages: row.advantages.map((advantage, t) => (row.mask[t] ? advantage * (rollout_is === 'sequence' ? whole : weightOf(logRatios[t] as number)) : 0)),
    };
  });
}
