import { TrainerError } from '../protocol/errors.ts';
import type { DecoderConfig } from '../models/decoder-config.ts';
import type { MicroBatchShape } from '../models/training-graph.ts';
import { activationBytes, availableMemory } from './memory.ts';
import { microBatches } from './micro-batches.ts';

/** Says that a row of `longest` tokens does not fit alone, and about how long rows may be, by the estimate of what is free now. */
export function tooLong(config: DecoderConfig, longest: number, lora: boolean, cause: unknown): TrainerError {
  // What is free may be more than this process may have: what failed needs more than there was.
  const bytes = Math.min(availableMemory(), activationBytes(config, shapeOfRow(config, longest), 'recompute', lora) / 2);
  const fits = longestFitting(config, bytes, longest, lora);
  return new TrainerError('out_of_memory', `There is not enough memory to learn from a row of ${longest} tokens, even alone. ${fits > 0 ? `Rows of up to about ${fits} tokens may fit` : 'Shorter rows will hardly fit'}: lower sampling.max_tokens or leave out long examples, end other programs, or train fewer parameters (model.lora_rank).`, { cause, details: { longest_row: fits } });
}

/** The longest row, in tokens and below `limit`, that about fits in so many bytes on its own; 0: none. */
export function longestFitting(config: DecoderConfig, bytes: number, limit: number, lora: boolean): number {
  let [fits, over] = [1, limit]; // a row has a token that predicts and one that is predicted
  while (over - fits > 1) {
    const length = (fits + over) >> 1;
    if (activationBytes(config, shapeOfRow(config, length), 'recompute', lora) <= bytes) fits = length;
    else over = length;
  }
  return fits === 1 ? 0 : fits;
}

function shapeOfRow(config: DecoderConfig, length: number): MicroBatchShape {
  const [batch] = microBatches([{ tokens: new Int32Array(length), mask: new Uint8Array(length).fill(1), temperature: 1 }], length, config);
  return (batch as NonNullable<typeof batch>).shape;
}
