import { addedTo, gradients } from '../engine/autodiff.ts';
import { GraphBuilder, type Value } from '../engine/graph.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { finalNorm, vocabularyLogits, type Weights } from './decoder.ts';
import { policyLoss, type PolicyObjective } from './policy-loss.ts';
import { gradientOf, sumOf } from './gradient-names.ts';
import { weightInputs, type Frozen } from './policy-weights.ts';

/** What the output layer is differentiated for. 'linear': Σ logprob_weight·logp + entropy_weight·H, the gradient of any loss once its coefficients are known. */
export type HeadObjective = { kind: 'logprobs' } | { kind: 'supervised' } | { kind: 'linear' } | PolicyObjective;

/** Added to a logit: finite, so that it stays a number when multiplied by its probability of 0. */
export const notAllowed = -1e9;

/** Parameters of the output layer. */
export const headParameters = ({ tied }: DecoderConfig): string[] => ['model.norm.weight', tied ? 'model.embed_tokens.weight' : 'lm_head.weight'];

/**
 * Final norm, output layer and loss for N of the trained tokens: the only place where logits [N, V] exist.
 * Inputs: hidden [N, hidden] before the final norm, target int32 [N], inv_temperature [N], the parameters, and those of the objective as in `trainingGraph`;
 * if `masked`, allowed [N, V]: 0 for the tokens that the distributions are of, `notAllowed` for others, whose probability is then 0.
 * Outputs: logprob [N], entropy [N]; with an objective loss [], `grad hidden`, and the gradients of the parameters, added to `sum <parameter>` if `accumulate`.
 */
export function headGraph(config: DecoderConfig, frozen: Frozen | null, count: number, objective: HeadObjective, { accumulate, masked }: { accumulate: boolean; masked: boolean }): GraphBuilder {
  const b = new GraphBuilder();
  const names = headParameters(config);
  const { weight, trainable } = weightInputs(b, config, frozen, (name) => names.some((parameter) => name.startsWith(parameter)));
  const hidden = b.input('hidden', 'float32', [count, config.hidden]);
  const token = tokenLogprobs(b, config, weight, finalNorm(b, config, weight, hidden), count, masked);
  b.output('logprob', token.logprob);
  b.output('entropy', token.entropy);
  if (objective.kind === 'logprobs') return b;

  const loss = b.output('loss', lossOf(b, token, count, objective));
  const [dHidden, ...grads] = gradients(b, loss, [hidden, ...trainable.values()]) as [Value, ...Value[]];
  b.output(gradientOf('hidden'), dHidden);
  [...trainable.keys()].forEach((name, i) => {
    const grad = grads[i] as Value;
    b.output(gradientOf(name), accumulate ? addedTo(b, b.input(sumOf(name), 'float32', grad.shape), grad) : grad);
  });
  return b;
}

/**
 * The loss of all N trained tokens from their log-probabilities and entropies alone: inputs logprob [N], entropy [N] and those of `policyLoss`;
 * outputs loss [], and its gradients `grad logprob` and `grad entropy` [N].
 */
export function lossGraph(count: number, objective: PolicyObjective): GraphBuilder {
  const b = new GraphBuilder();
  const token = { logprob: b.input('logprob', 'float32', [count]), entropy: b.input('entropy', 'float32', [count]) };
  const loss = b.output('loss', weighted(b, policyLoss(b, token, count, objective), 'weight', count));
  const [dLogprob, dEntropy] = gradients(b, loss, [token.logprob, token.entropy]) as [Value, Value];
  b.output(gradientOf('logprob'), dLogprob);
  b.output(gradientOf('entropy'), dEntropy);
  return b;
}

/** Log-probability and entropy [N] of the whole distribution after `hidden` [N, hidden]; inputs target int32 [N], inv_temperature [N]; `masked` as in `headGraph`. */
export function tokenLogprobs(b: GraphBuilder, config: DecoderConfig, weight: Weights, hidden: Value, count: number, masked = false): { logprob: Value; entropy: Value } {
  const target = b.input('target', 'int32', [count]);
  const inverseTemperature = b.input('inv_temperature', 'float32', [count]);
  const all = b.mul(vocabularyLogits(b, config, weight, hidden), b.reshape(inverseTemperature, [count, 1]));
  const logits = masked ? b.add(all, b.input('allowed', 'float32', [count, config.vocab])) : all;
  const logSum = b.logSumExp(logits);
  const chosen = b.gatherElements(logits, b.reshape(target, [count, 1]));
  const logprob = b.reshape(b.sub(chosen, logSum), [count]);
  const probability = b.exp(b.sub(logits, logSum));
  const entropy = b.reshape(b.sub(logSum, b.reduceSum(b.mul(probability, logits), [-1], true)), [count]);
  return { logprob, entropy };
}

function lossOf(b: GraphBuilder, token: { logprob: Value; entropy: Value }, count: number, objective: Exclude<HeadObjective, { kind: 'logprobs' }>): Value {
  switch (objective.kind) {
    case 'supervised': return weighted(b, b.neg(token.logprob), 'weight', count);
    case 'linear': return b.add(weighted(b, token.logprob, 'logprob_weight', count), weighted(b, token.entropy, 'entropy_weight', count));
    case 'grpo': return weighted(b, policyLoss(b, token, count, objective), 'weight', count);
  }
}

/** Σ w·x with w [N] an input. */
export function weighted(b: GraphBuilder, perToken: Value, name: string, count: number): Value {
  return b.reduceSum(b.mul(perToken, b.input(name, 'float32', [count])));
}
