import { gradients } from '../engine/autodiff.ts';
import { GraphBuilder, type Value } from '../engine/graph.ts';
import { causalAttention } from './attention.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { decoder, vocabularyLogits, weightInputs, type Weights } from './decoder.ts';
import { parameterShapes } from './parameters.ts';

/** Static sizes of a micro-batch: rows, tokens per row, trained tokens in all rows together. */
export interface MicroBatchShape { batch: number; length: number; trained: number }

export type KlType = 'none' | 'k1' | 'k2' | 'k3';
/** What a graph computes beyond the log-probabilities. */
export type Objective = { kind: 'logprobs' } | { kind: 'supervised' } | { kind: 'grpo'; kl: KlType };

export const k3Limit = 10;

export const gradientOf = (parameter: string) => `grad ${parameter}`;

/**
 * Forward pass (and backward pass, unless the objective is 'logprobs') of a micro-batch.
 *
 * Inputs: every parameter by name; tokens int32 [B, T]; and, for the N trained tokens (padded ones have weight 0):
 * position int32 [N] (flat index b·T + t of the hidden state that predicts the token, the token before it), target int32 [N], inv_temperature [N].
 * Outputs: logprob [N], entropy [N] (nats, of the whole distribution), and with an objective loss [], `grad <parameter>`.
 * supervised adds weight [N];  loss = -Σ w·logp.
 * grpo adds weight, advantage, old_logprob [N], clip_low, clip_high [] and, with a KL term, ref_logprob [N] and kl_coef [];
 * loss = Σ w·(max(-A·r, -A·clip(r, 1-low, 1+high)) + kl_coef·KL), r = exp(logp - old)  (Schulman et al. 2017; DAPO's asymmetric clip).
 */
export function trainingGraph(config: DecoderConfig, shape: MicroBatchShape, objective: Objective): GraphBuilder {
  const b = new GraphBuilder();
  const weight = weightInputs(b, config);
  const { logprob, entropy } = tokenLogprobs(b, config, weight, shape);
  b.output('logprob', logprob);
  b.output('entropy', entropy);
  if (objective.kind === 'logprobs') return b;

  const perToken = objective.kind === 'supervised' ? b.neg(logprob) : grpoLoss(b, logprob, shape.trained, objective.kl);
  const loss = b.output('loss', b.reduceSum(b.mul(perToken, b.input('weight', 'float32', [shape.trained]))));
  const names = [...parameterShapes(config).keys()];
  gradients(b, loss, names.map(weight)).forEach((grad, i) => b.output(gradientOf(names[i] as string), grad));
  return b;
}

function tokenLogprobs(b: GraphBuilder, config: DecoderConfig, weight: Weights, { batch, length, trained }: MicroBatchShape) {
  const tokens = b.input('tokens', 'int32', [batch, length]);
  const position = b.input('position', 'int32', [trained]);
  const target = b.input('target', 'int32', [trained]);
  const inverseTemperature = b.input('inv_temperature', 'float32', [trained]);

  const attention = causalAttention(b, config, batch, length);
  const hidden = decoder(b, config, weight, tokens, (projections) => attention(projections).output, position);
  const logits = b.mul(vocabularyLogits(b, config, weight, hidden), b.reshape(inverseTemperature, [trained, 1]));
  const logSum = b.logSumExp(logits);
  const chosen = b.gatherElements(logits, b.reshape(target, [trained, 1]));
  const logprob = b.reshape(b.sub(chosen, logSum), [trained]);
  const probability = b.exp(b.sub(logits, logSum));
  const entropy = b.reshape(b.sub(logSum, b.reduceSum(b.mul(probability, logits), [-1], true)), [trained]);
  return { logprob, entropy };
}

function grpoLoss(b: GraphBuilder, logprob: Value, trained: number, kl: KlType): Value {
  const perToken = (name: string) => b.input(name, 'float32', [trained]);
  const setting = (name: string) => b.input(name, 'float32', []);
  const negAdvantage = b.neg(perToken('advantage'));
  const [low, high] = [setting('clip_low'), setting('clip_high')];
  // A log-ratio of 20 is a ratio of 5e8: beyond it only overflow is to be had.
  const ratio = b.exp(b.clip(b.sub(logprob, perToken('old_logprob')), -20, 20));
  const clipped = b.minimum(b.maximum(ratio, b.sub(1, low)), b.add(1, high));
  const surrogate = b.maximum(b.mul(negAdvantage, ratio), b.mul(negAdvantage, clipped));
  if (kl === 'none') return surrogate;
  return b.add(surrogate, b.mul(setting('kl_coef'), klEstimate(b, b.sub(logprob, perToken('ref_logprob')), kl)));
}

/** Estimators of KL(policy || reference) from d = logp - ref (Schulman 2020). k3 grows exponentially: beyond `k3Limit` it is cut and has no gradient, as in verl. */
function klEstimate(b: GraphBuilder, d: Value, kind: Exclude<KlType, 'none'>): Value {
  if (kind === 'k1') return d;
  if (kind === 'k2') return b.mul(b.square(d), 0.5);
  const limited = b.clip(d, -20, 20);
  return b.minimum(b.sub(b.add(b.exp(b.neg(limited)), limited), 1), k3Limit);
}
