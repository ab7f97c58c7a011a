import type { DecoderConfig } from '../models/decoder-config.ts';
import type { MicroBatchShape } from '../models/training-graph.ts';
import { cheapestLayout, type Part } from './layout.ts';
import { RowTrie, spans } from './packed-rows.ts';

/** What a micro-batch is made of. `mask[0]` must be 0: nothing predicts the first token. */
export interface TokenRow {
  tokens: ArrayLike<number>;
  mask: ArrayLike<number>;
  temperature: number;
  /** By position, the tokens that this one was drawn among, as bits (see `TokenConstraint`); none at a position: all tokens. */
  allowed?: AllowedTokens | undefined;
}

export type AllowedTokens = ReadonlyMap<number, Uint32Array>;

/** Packed rows of one forward pass, padded on the right, and where each trained token comes from. */
export interface MicroBatch {
  shape: MicroBatchShape;
  /** [B, T] */
  tokens: Int32Array;
  /** [B, T] place of each token in its own row; 0 for padding. */
  positionIds: Int32Array;
  /** [B, T] which tokens see it, see `causalAttention`. */
  subtreeEnd: Int32Array;
  /** [N] flat index of the hidden state that predicts the token; 0 for padding. Rows with a common prefix share it. */
  position: Int32Array;
  /** [N] the token predicted; 0 for padding. */
  target: Int32Array;
  /** [N] 1 / temperature of the token's row; 1 for padding. */
  inverseTemperature: Float32Array;
  /** [N] which of the micro-batch's rows the token is of, before packing; 0 for padding. */
  sequence: Int32Array;
  /** For each real trained token, in order: index of its row and position in it. */
  origins: { row: number; at: number }[];
  /** [N] the tokens that the real ones were drawn among; null: no token of the batch had fewer than all. */
  allowed: (Uint32Array | undefined)[] | null;
}

/**
 * Cuts rows into micro-batches of at most `maxTokens` tokens (one row at least), padding included. Rows are packed: several stand in one row of the
 * micro-batch, what they have in common at the beginning is there once, and what follows the last trained token is left out. The layout is that of least work.
 * Masks decide what is trained, never token values: an end-of-sequence token that was sampled is trained although padding has the same id.
 */
export function microBatches(rows: readonly TokenRow[], maxTokens: number, config: DecoderConfig, layout = cheapestLayout): MicroBatch[] {
  const members = rows.flatMap((source, row) => (lastTrained(source) > 0 ? [{ row, source }] : []));
  const trie = new RowTrie(members.map(({ source }) => Array.from({ length: lastTrained(source) }, (_, at) => source.tokens[at] as number)));
  return layout(trie, maxTokens, config).map((part) => assemble(members, trie, part));
}

function assemble(members: readonly { row: number; source: TokenRow }[], trie: RowTrie, { batch, length, packed }: Part): MicroBatch {
  const tokens = new Int32Array(batch * length);
  const positionIds = new Int32Array(batch * length);
  const subtreeEnd = Int32Array.from(tokens, (_, i) => (i % length) + 1);
  const trained: { row: number; at: number; source: TokenRow; position: number; sequence: number }[] = [];
  let sequence = 0;
  packed.forEach((packedRow, b) => {
    const places = spans(packedRow);
    for (const [{ row, from, end }, { start, subtreeEnd: last }] of places) {
      for (let at = from; at < end; at++) {
        const i = b * length + start + at - from;
        tokens[i] = members[row]?.source.tokens[at] as number;
        positionIds[i] = at;
        subtreeEnd[i] = last;
      }
    }
    for (const member of packedRow.rows) {
      const { row, source } = members[member] as { row: number; source: TokenRow };
      for (const node of trie.path(member)) {
        const first = b * length + (places.get(node)?.start as number) - node.from;
        for (let at = node.from + 1; at <= node.end; at++) if (source.mask[at]) trained.push({ row, at, source, position: first + at - 1, sequence });
      }
      sequence++;
    }
  });

  const count = trainedBucket(trained.length);
  const position = new Int32Array(count);
  const target = new Int32Array(count);
  const inverseTemperature = new Float32Array(count).fill(1);
  const sequences = new Int32Array(count);
  trained.forEach(({ at, source, ...token }, n) => {
    position[n] = token.position;
    sequences[n] = token.sequence;
    target[n] = source.tokens[at] as number;
    // Greedy tokens (temperature 0) carry their log-probability at temperature 1.
    inverseTemperature[n] = source.temperature > 0 ? 1 / source.temperature : 1;
  });
  const origins = trained.map(({ row, at }) => ({ row, at }));
  const masks = trained.map(({ source, at }) => source.allowed?.get(at));
  const allowed = masks.some((mask) => mask) ? masks : null;
  return { shape: { batch, length, trained: count }, tokens, positionIds, subtreeEnd, position, target, inverseTemperature, sequence: sequences, origins, allowed };
}

/** Trained tokens are padded to one of these: 32, 48, 64, 96, 128 … */
function trainedBucket(count: number): number {
  const power = 2 ** Math.max(5, Math.ceil(Math.log2(count)));
  return count <= 0.75 * power && power > 32 ? 0.75 * power : power;
}

/** Tokens of the longest row. */
export function longestRow(rows: readonly { tokens: ArrayLike<number> }[]): number { return rows.reduce((most, { tokens }) => Math.max(most, tokens.length), 0); }

/** Trained tokens of all rows. */
export function trainedTokens(rows: readonly Pick<TokenRow, 'tokens' | 'mask'>[]): number {
  return rows.reduce((sum, { tokens, mask }) => {
    for (let at = 1; at < tokens.length; at++) if (mask[at]) sum++;
    return sum;
  }, 0);
}

/** Position of the last trained token, 0: none. */
function lastTrained({ tokens, mask }: TokenRow): number {
  for (let at = tokens.length - 1; at > 0; at--) if (mask[at]) return at;
  return 0;
}
