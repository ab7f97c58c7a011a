import type { UpdateSettings } from '../protocol/policy.ts';
import { k3Limit } from '../models/policy-loss.ts';
import type { ObjectiveInputs, TokenResults } from './learner.ts';
import type { MicroBatch } from './micro-batches.ts';

/**
 * Sums over the trained tokens of a micro-batch: entropy and KL (nats), tokens whose gradient the clip took, and how far the trainer is from the sampler:
 * deviation |r - 1|; maxDiff is the largest difference of log-probabilities.
 */
export function observe({ origins }: MicroBatch, { perToken }: ObjectiveInputs, sampled: Float32Array, { logprob, entropy }: TokenResults, settings: UpdateSettings) {
  const seen = { entropy: 0, kl: 0, clipped: 0, deviation: 0, maxDiff: 0 };
  const at = (name: string, n: number) => perToken[name]?.[n] ?? 0;
  const logRatios = ratios(origins, (n) => (logprob[n] as number) - at('old_logprob', n), settings.importance_sampling_level);
  for (let n = 0; n < origins.length; n++) {
    const now = logprob[n] as number;
    const ratio = Math.exp(logRatios[n] as number);
    const advantage = at('advantage', n);
    if (advantage > 0 ? ratio > 1 + settings.clip_ratio_high : advantage < 0 && (ratio < 1 - settings.clip_ratio_low || ratio > settings.clip_ratio_c)) seen.clipped += 1;
    const fromSampler = now - (sampled[n] as number);
    seen.entropy += entropy[n] as number;
    seen.deviation += Math.abs(Math.exp(fromSampler) - 1);
    seen.maxDiff = Math.max(seen.maxDiff, Math.abs(fromSampler));
    const d = now - at('ref_logprob', n);
    seen.kl += settings.kl_loss_type === 'k1' ? d : settings.kl_loss_type === 'k2' ? d ** 2 / 2 : Math.min(Math.exp(-d) + d - 1, k3Limit);
  }
  return seen;
}

/** The log-ratio each token is clipped by: its own, or the mean of its row's. */
function ratios(origins: MicroBatch['origins'], own: (n: number) => number, level: 'token' | 'sequence'): number[] {
  const tokens = origins.map((_, n) => own(n));
  if (level === 'token') return tokens;
  const rows = new Map<number, { sum: number; count: number }>();
  origins.forEach(({ row }, n) => {
    const { sum, count } = rows.get(row) ?? { sum: 0, count: 0 };
    rows.set(row, { sum: sum + (tokens[n] as number), count: count + 1 });
  });
  return origins.map(({ row }) => { const { sum, count } = rows.get(row)!; return sum / count; });
}
