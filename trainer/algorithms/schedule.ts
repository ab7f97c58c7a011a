import type { GrpoConfig } from '../protocol/grpo-config.ts';

type Schedule = Pick<GrpoConfig, 'lr' | 'lr_schedule' | 'warmup_steps' | 'steps'>;

/**
 * Learning rate of a step (0-based): linear warm-up over `warmup_steps`, then constant, or down to 0 at `steps`
 * linearly or along half a cosine. The last step still learns.
 */
export function learningRate(step: number, config: Schedule): number {
  if (step < config.warmup_steps) return (config.lr * (step + 1)) / (config.warmup_steps + 1);
  const progress = (step - config.warmup_steps) / Math.max(1, config.steps - config.warmup_steps);
  switch (config.lr_schedule) {
    case 'constant': return config.lr;
    case 'linear': return config.lr * (1 - progress);
    case 'cosine': return config.lr * 0.5 * (1 + Math.cos(Math.PI * progress));
  }
}
