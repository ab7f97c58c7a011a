import type { Random } from '../../examples/sql-agent/generator/random.ts';
import type { SupervisedRow } from '../../trainer/policy/supervised.ts';

const BATCHES_PER_CHUNK = 64;

/** Cuts an endless sequence into encoded batches of similar length (little padding), in random order within each chunk of 64 batches. */
export function* lengthGroupedBatches<T>(items: Iterator<T, never>, encode: (item: T) => SupervisedRow, batchSize: number, random: Random): Generator<SupervisedRow[], never> {
  for (;;) {
    const chunk = Array.from({ length: batchSize * BATCHES_PER_CHUNK }, () => encode(items.next().value));
    chunk.sort((a, b) => a.tokens.length - b.tokens.length);
    yield* random.shuffle(Array.from({ length: BATCHES_PER_CHUNK }, (_, i) => chunk.slice(i * batchSize, (i + 1) * batchSize)));
  }
}
