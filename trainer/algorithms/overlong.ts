import type { GrpoConfig } from '../protocol/grpo-config.ts';

/**
 * Soft overlong punishment (DAPO, Yu et al. 2025), added to the reward: 0 up to `max_tokens - len` tokens, then falling
 * linearly to -penalty_factor at `max_tokens`.
 */
export function overlongPenalty(tokens: number, { len, penalty_factor }: GrpoConfig['overlong_buffer'], max_tokens: number | undefined): number {
  if (len === 0 || max_tokens === undefined) return 0; // a configuration with a buffer has max_tokens
  const excess = tokens - (max_tokens - len);
  return excess <= 0 ? 0 : -(excess / len) * penalty_factor;
}
