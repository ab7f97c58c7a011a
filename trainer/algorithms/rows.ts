import type { Trajectory } from '../adapter/trajectories.ts';
import type { GrpoConfig } from '../protocol/grpo-config.ts';
import type { TrainRow } from '../protocol/policy.ts';

/** A rollout's trajectories and, by the span id of a call, the advantages of its tokens. */
export interface AdvantagedRollout { trajectories: Trajectory[]; advantages: ReadonlyMap<string, readonly number[]> }

export interface Aggregation { loss_agg_mode: GrpoConfig['loss_agg_mode']; loss_scale_factor: number | undefined }

/**
 * Rows of one optimiser step with the weight of each token in the loss:
 *   token-mean               1 / trained tokens of the step
 *   rollout-mean             1 / (trained tokens of its rollout · rows): every rollout weighs the same, however long it is or however many calls it made
 *   seq-mean-token-mean      1 / (trained tokens of its row · rows)
 *   seq-mean-token-sum       1 / rows
 *   seq-mean-token-sum-norm  1 / (loss_scale_factor · rows)
 */
export function trainRows(rollouts: readonly AdvantagedRollout[], { loss_agg_mode, loss_scale_factor }: Aggregation): TrainRow[] {
  const all = rollouts.flatMap((rollout) => rollout.trajectories);
  const total = trainedTokens(all);
  const weightOf = (row: Trajectory, rollout: Trajectory[]): number => {
    switch (loss_agg_mode) {
      case 'token-mean': return 1 / total;
      case 'rollout-mean': return 1 / (trainedTokens(rollout) * all.length);
      case 'seq-mean-token-mean': return 1 / (trainedTokens([row]) * all.length);
      case 'seq-mean-token-sum': return 1 / all.length;
      case 'seq-mean-token-sum-norm': return 1 / (loss_scale_factor! * all.length); // a configuration with this mode has it
    }
  };
  return rollouts.flatMap(({ advantages, trajectories }) => trajectories.map((row) => {
    const weight = weightOf(row, trajectories);
    return {
      tokens: row.tokens,
      mask: row.mask,
      old_logprobs: row.logprobs,
      temperature: row.temperature,
      ...(row.constraints ? { constraints: row.constraints } : {}),
      advantages: rowAdvantages(row, advantages),
      weights: row.mask.map((trained) => (trained === 1 ? weight : 0)),
    };
  }));
}

function rowAdvantages(row: Trajectory, advantages: AdvantagedRollout['advantages']): number[] {
  const values = new Array<number>(row.tokens.length).fill(0);
  for (const { span_id, start } of row.calls) advantages.get(span_id)?.forEach((advantage, n) => { values[start + n] = advantage; });
  return values;
}

/** Tokens with mask 1. */
export function trainedTokens(trajectories: readonly { mask: number[] }[]): number {
  return trajectories.reduce((sum, { mask }) => sum + mask.reduce((ones, value) => ones + value, 0), 0);
}
