import { gradients } from '../engine/autodiff.ts';
import { GraphBuilder } from '../engine/graph.ts';
import { causalAttention, placesInputs } from './attention.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { decoder } from './decoder.ts';
import { gradientOf } from './gradient-names.ts';
import { tokenLogprobs, weighted } from './head-graphs.ts';
import { weightInputs, type Frozen } from './policy-weights.ts';
import { policyLoss, type PolicyObjective } from './policy-loss.ts';

/** Static sizes of a micro-batch: packed rows, tokens per packed row, trained tokens in all of them together. */
export interface MicroBatchShape { batch: number; length: number; trained: number }

/** What a graph computes beyond the log-probabilities. */
export type Objective = { kind: 'logprobs' } | { kind: 'supervised' } | PolicyObjective;


/**
 * Forward pass (and backward pass, unless the objective is 'logprobs') of a micro-batch.
 *
 * Inputs: every parameter by name, and the factors of LoRA where the model is `frozen`; tokens int32 [B, T]; position_ids and subtree_end
 * int32 [B, T] as for `causalAttention`; and, for the N trained tokens (padded ones have weight 0): position int32 [N] (flat index b·T + t of the hidden state that predicts
 * the token, that of the token before it; several may be predicted by one), target int32 [N], inv_temperature [N].
 * Outputs: logprob [N], entropy [N] (nats, of the whole distribution), and with an objective loss [], `grad <parameter>` of what is trained.
 * supervised adds weight [N];  loss = -Σ w·logp.
 * grpo adds weight [N] and the inputs of `policyLoss`;  loss = Σ w·policyLoss.
 */
export function trainingGraph(config: DecoderConfig, shape: MicroBatchShape, objective: Objective, frozen: Frozen | null = null): GraphBuilder {
  const b = new GraphBuilder();
  const { weight, trainable } = weightInputs(b, config, frozen);
  const { batch, length, trained } = shape;
  const tokens = b.input('tokens', 'int32', [batch, length]);
  const position = b.input('position', 'int32', [trained]);
  const attention = causalAttention(b, config, placesInputs(b, batch, length));
  const hidden = decoder(b, config, weight, tokens, attention, position);
  const { logprob, entropy } = tokenLogprobs(b, config, weight, hidden, trained);
  b.output('logprob', logprob);
  b.output('entropy', entropy);
  if (objective.kind === 'logprobs') return b;

  const perToken = objective.kind === 'supervised' ? b.neg(logprob) : policyLoss(b, { logprob, entropy }, trained, objective);
  const loss = b.output('loss', weighted(b, perToken, 'weight', trained));
  const names = [...trainable.keys()];
  gradients(b, loss, [...trainable.values()]).forEach((grad, i) => b.output(gradientOf(names[i] as string), grad));
  return b;
}
