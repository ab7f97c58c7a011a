import type { GraphBuilder, Value } from '../engine/graph.ts';

export type KlType = 'none' | 'k1' | 'k2' | 'k3';

/** Which terms a policy loss has, so that a graph computes none in vain. */
export interface PolicyObjective {
  kind: 'grpo';
  kl: KlType;
  /** 'sequence': one importance ratio per row, the geometric mean of its tokens' (GSPO, Zheng et al. 2025). */
  level: 'token' | 'sequence';
  entropy: boolean;
}

export const k3Limit = 10;
/** A log-ratio of 20 is a ratio of 5e8: beyond it only overflow is to be had. */
export const logRatioLimit = 20;

/**
 * Loss of each trained token [N], to be minimised:
 *   max(-A·r, -A·clip(r, 1-low, 1+high)), for A < 0 at most -A·c, plus kl_coef·KL, less entropy_coeff·H
 * with r = exp(logp - old) (Schulman et al. 2017; asymmetric clip of DAPO, Yu et al. 2025; dual clip of Ye et al. 2020).
 * Level 'sequence' replaces log r by its mean over the row; the gradient goes through the mean.
 *
 * Inputs: advantage, old_logprob [N]; clip_low, clip_high, clip_c []; level 'sequence': sequence int32 [N], the row of
 * each token, numbered from 0 in the micro-batch, and sequence_share [N], 1 / trained tokens of that row; a KL term: ref_logprob [N], kl_coef []; entropy: entropy_coeff [].
 */
export function policyLoss(b: GraphBuilder, token: { logprob: Value; entropy: Value }, count: number, objective: PolicyObjective): Value {
  const perToken = (name: string) => b.input(name, 'float32', [count]);
  const setting = (name: string) => b.input(name, 'float32', []);
  const advantage = perToken('advantage');
  const negAdvantage = b.neg(advantage);
  const [low, high, c] = [setting('clip_low'), setting('clip_high'), setting('clip_c')];
  const tokenRatio = b.sub(token.logprob, perToken('old_logprob'));
  const logRatio = objective.level === 'token' ? tokenRatio : sequenceMean(b, tokenRatio, count);
  const ratio = b.exp(b.clip(logRatio, -logRatioLimit, logRatioLimit));
  const clipped = b.minimum(b.maximum(ratio, b.sub(1, low)), b.add(1, high));
  const surrogate = b.maximum(b.mul(negAdvantage, ratio), b.mul(negAdvantage, clipped));
  let loss = b.where(b.less(advantage, 0), b.minimum(surrogate, b.mul(negAdvantage, c)), surrogate);
  if (objective.kl !== 'none') loss = b.add(loss, b.mul(setting('kl_coef'), klEstimate(b, b.sub(token.logprob, perToken('ref_logprob')), objective.kl)));
  return objective.entropy ? b.sub(loss, b.mul(setting('entropy_coeff'), token.entropy)) : loss;
}

/** The mean of `values` [N] over the tokens of the same row, for each token. There are at most N rows. */
function sequenceMean(b: GraphBuilder, values: Value, count: number): Value {
  const sequence = b.input('sequence', 'int32', [count]);
  const share = b.input('sequence_share', 'float32', [count]);
  const parts = b.reshape(b.mul(values, share), [count, 1]);
  const means = b.scatterAddRows(b.zeros({ dtype: 'float32', shape: [count, 1] }), sequence, parts);
  return b.reshape(b.gather(means, sequence), [count]);
}

/**
 * Estimators of KL(policy || reference) from d = logp - ref (Schulman 2020). As a loss on-policy, k2 has the gradient of KL(policy || reference),
 * k3 that of KL(reference || policy), and k1 none in expectation: it belongs in the reward (`kl_coef`).
 * k3 grows exponentially: beyond `k3Limit` it is cut and has no gradient, as in verl.
 */
function klEstimate(b: GraphBuilder, d: Value, kind: Exclude<KlType, 'none'>): Value {
  if (kind === 'k1') return d;
  if (kind === 'k2') return b.mul(b.square(d), 0.5);
  const limited = b.clip(d, -20, 20);
  return b.minimum(b.sub(b.add(b.exp(b.neg(limited)), limited), 1), k3Limit);
}
