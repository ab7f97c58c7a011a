const epsilon = 1e-6; // verl's

export type GroupAdvantages =
  | { kind: 'advantages'; values: number[] }
  /** Nothing to compare with: no advantage, no gradient. */
  | { kind: 'skipped'; reason: 'group of one' | 'group without variance' };

/**
 * Advantages of the rollouts of one task, one number per rollout whatever its number of calls:
 * 'group' (R - mean) / (std + 1e-6) with the sample standard deviation (n - 1), GRPO; 'none' R - mean, Dr. GRPO.
 */
export function groupAdvantages(rewards: readonly number[], scale: 'group' | 'none'): GroupAdvantages {
  if (rewards.length < 2) return { kind: 'skipped', reason: 'group of one' };
  // Compared exactly: the mean of equal decimals need not equal them, and noise of 1e-17 over epsilon is not a signal.
  if (rewards.every((reward) => reward === rewards[0])) return { kind: 'skipped', reason: 'group without variance' };
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  const variance = rewards.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / (rewards.length - 1);
  const divisor = scale === 'group' ? Math.sqrt(variance) + epsilon : 1;
  return { kind: 'advantages', values: rewards.map((reward) => (reward - mean) / divisor) };
}
