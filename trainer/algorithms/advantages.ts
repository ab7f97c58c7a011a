import type { GrpoConfig } from '../protocol/grpo-config.ts';

export type Estimation = Pick<GrpoConfig, 'adv_estimator' | 'scale_rewards'>;

const epsilon = 1e-6; // verl's
const whiteningEpsilon = 1e-8; // verl's

export type GroupAdvantages =
  | { kind: 'advantages'; values: number[] }
  /** Nothing to compare with: no advantage, no gradient. */
  | { kind: 'skipped'; reason: 'group of one' | 'group without variance' };

/**
 * Rewards of one group (the rollouts of one task, whatever their number of calls; or their calls) against each other:
 *   grpo                          (R - mean) / (std + 1e-6), sample standard deviation (n - 1); without std with `scale_rewards` 'none' (Dr. GRPO)
 *   rloo                          R - mean of the others = n / (n - 1) · (R - mean)
 *   reinforce_plus_plus_baseline  R - mean, to be whitened over the step
 */
export function groupAdvantages(rewards: readonly number[], { adv_estimator, scale_rewards }: Estimation): GroupAdvantages {
  if (rewards.length < 2) return { kind: 'skipped', reason: 'group of one' };
  if (allEqual(rewards)) return { kind: 'skipped', reason: 'group without variance' };
  const mean = meanOf(rewards);
  if (adv_estimator === 'rloo') return { kind: 'advantages', values: rewards.map((reward) => (rewards.length / (rewards.length - 1)) * (reward - mean)) };
  const scaled = adv_estimator === 'grpo' && scale_rewards === 'group';
  const divisor = scaled ? Math.sqrt(sampleVariance(rewards, mean)) + epsilon : 1;
  return { kind: 'advantages', values: rewards.map((reward) => (reward - mean) / divisor) };
}

/** Values of tokens brought to mean 0 and variance 1 over all tokens together (REINFORCE++, Hu et al. 2025); null when they do not differ. */
export function whiten(samples: readonly number[][]): number[][] | null {
  const tokens = samples.flat();
  if (tokens.length < 2 || allEqual(tokens)) return null;
  const mean = meanOf(tokens);
  const scale = 1 / Math.sqrt(sampleVariance(tokens, mean) + whiteningEpsilon);
  return samples.map((values) => values.map((value) => (value - mean) * scale));
}

/** Exactly: the mean of equal decimals need not equal them, and noise of 1e-17 over epsilon is not a signal. */
export function allEqual(values: readonly number[]): boolean {
  return values.every((value) => value === values[0]);
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function sampleVariance(values: readonly number[], mean: number): number {
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
}
