import type { DecoderConfig } from '../models/decoder-config.ts';
import type { MicroBatchShape } from '../models/training-graph.ts';

/** Micro-batches that need more are run layer by layer. */
export const wholeGraphLimit = 512 * 2 ** 20;

/** About what a micro-batch needs as one graph besides weights and gradients, in bytes: every activation of every layer, and four tensors of logits. */
export function wholeGraphBytes({ layers, hidden, heads, intermediate, vocab }: DecoderConfig, { batch, length, trained }: MicroBatchShape): number {
  const perToken = layers * (10 * hidden + 5 * intermediate + 2 * heads * length);
  return 4 * (batch * length * perToken + 4 * trained * vocab);
}
