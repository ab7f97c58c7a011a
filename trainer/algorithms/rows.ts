import type { Trajectory } from '../adapter/trajectories.ts';
import type { GrpoConfig } from '../protocol/config.ts';
import type { TrainRow } from '../protocol/policy.ts';

/** A rollout's trajectories and the one advantage they all share. */
export interface AdvantagedRollout { advantage: number; trajectories: Trajectory[] }

/**
 * Training rows with the weight of each token in the loss.
 * 'token-mean': 1 / trained tokens of the step. 'rollout-mean': 1 / (trained tokens of its rollout * rows of the step),
 * so every rollout weighs the same however long it is or however many calls it made.
 */
export function trainRows(rollouts: readonly AdvantagedRollout[], aggregation: GrpoConfig['loss_agg_mode']): TrainRow[] {
  const trajectories = rollouts.flatMap((rollout) => rollout.trajectories);
  const total = trainedTokens(trajectories);
  return rollouts.flatMap(({ advantage, trajectories: own }) => {
    const weight = aggregation === 'token-mean' ? 1 / total : 1 / (trainedTokens(own) * trajectories.length);
    return own.map((trajectory) => ({
      tokens: trajectory.tokens,
      mask: trajectory.mask,
      old_logprobs: trajectory.logprobs,
      temperature: trajectory.temperature,
      advantages: trajectory.mask.map((trained) => (trained === 1 ? advantage : 0)),
      weights: trajectory.mask.map((trained) => (trained === 1 ? weight : 0)),
    }));
  });
}

/** Tokens with mask 1. */
export function trainedTokens(trajectories: readonly { mask: number[] }[]): number {
  return trajectories.reduce((sum, { mask }) => sum + mask.reduce((ones, value) => ones + value, 0), 0);
}
