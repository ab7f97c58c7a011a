import type { MicroBatchShape } from '../models/training-graph.ts';

/** What a micro-batch is cut from. `mask[0]` must be 0: nothing predicts the first token. */
export interface TokenRow {
  tokens: ArrayLike<number>;
  mask: ArrayLike<number>;
  temperature: number;
  /** By position, the tokens that this one was drawn among, as bits (see `TokenConstraint`); none at a position: all tokens. */
  allowed?: AllowedTokens | undefined;
}

export type AllowedTokens = ReadonlyMap<number, Uint32Array>;

/** Rows of one forward pass, padded on the right, and where each trained token comes from. */
export interface MicroBatch {
  shape: MicroBatchShape;
  /** [B, T] */
  tokens: Int32Array;
  /** [N] flat index of the hidden state that predicts the token; 0 for padding. */
  position: Int32Array;
  /** [N] the token predicted; 0 for padding. */
  target: Int32Array;
  /** [N] 1 / temperature of the token's row; 1 for padding. */
  inverseTemperature: Float32Array;
  /** [N] row of the micro-batch that the token is in; 0 for padding. */
  sequence: Int32Array;
  /** For each real trained token, in order: index of its row and position in it. */
  origins: { row: number; at: number }[];
  /** [N] the tokens that the real ones were drawn among; null: no token of the batch had fewer than all. */
  allowed: (Uint32Array | undefined)[] | null;
}

/**
 * Cuts rows into micro-batches of at most `maxTokens` tokens (one row at least), padding included. Rows are sorted by length, so that little is
 * padding, and shapes come from a small set, because each shape is a compiled session. Masks decide what is trained, never token values: an
 * end-of-sequence token that was sampled is trained although padding has the same id.
 */
export function microBatches(rows: readonly TokenRow[], maxTokens: number): MicroBatch[] {
  const order = rows.map((_, i) => i).filter((i) => trainedCount(rows[i] as TokenRow) > 0);
  order.sort((a, b) => (rows[b] as TokenRow).tokens.length - (rows[a] as TokenRow).tokens.length || a - b);
  const batches: MicroBatch[] = [];
  for (let start = 0; start < order.length;) {
    const length = lengthBucket((rows[order[start] as number] as TokenRow).tokens.length);
    const capacity = Math.max(1, Math.floor(maxTokens / length));
    const members = order.slice(start, start + capacity);
    batches.push(assemble(rows, members, Math.min(capacity, powerOfTwoFrom(members.length)), length));
    start += members.length;
  }
  return batches;
}

/** Row lengths are rounded up to these: steps of 32, above 256 an eighth to a quarter of the length. */
export function lengthBucket(length: number): number {
  const step = Math.max(32, 2 ** (Math.ceil(Math.log2(length)) - 3));
  return Math.ceil(length / step) * step;
}

function assemble(rows: readonly TokenRow[], members: readonly number[], batch: number, length: number): MicroBatch {
  const origins: MicroBatch['origins'] = [];
  const tokens = new Int32Array(batch * length);
  members.forEach((row, b) => {
    const { tokens: ids, mask } = rows[row] as TokenRow;
    tokens.set(Array.from(ids), b * length);
    for (let at = 1; at < ids.length; at++) if (mask[at]) origins.push({ row, at });
  });
  const trained = [4, 2, 1].map((part) => Math.ceil((batch * length) / part)).find((n) => n >= origins.length) as number;
  const position = new Int32Array(trained);
  const target = new Int32Array(trained);
  const inverseTemperature = new Float32Array(trained).fill(1);
  const sequence = new Int32Array(trained);
  const slot = new Map(members.map((row, b) => [row, b]));
  origins.forEach(({ row, at }, n) => {
    const source = rows[row] as TokenRow;
    sequence[n] = slot.get(row) as number;
    position[n] = sequence[n] * length + at - 1;
    target[n] = source.tokens[at] as number;
    // Greedy tokens (temperature 0) carry their log-probability at temperature 1.
    inverseTemperature[n] = source.temperature > 0 ? 1 / source.temperature : 1;
  });
  return { shape: { batch, length, trained }, tokens, position, target, inverseTemperature, sequence, origins, allowed: allowedOf(rows, origins) };
}

function allowedOf(rows: readonly TokenRow[], origins: MicroBatch['origins']): MicroBatch['allowed'] {
  const allowed = origins.map(({ row, at }) => rows[row]?.allowed?.get(at));
  return allowed.some((mask) => mask) ? allowed : null;
}

/** Tokens of the longest row. */
export function longestRow(rows: readonly { tokens: ArrayLike<number> }[]): number { return rows.reduce((most, { tokens }) => Math.max(most, tokens.length), 0); }

/** Trained tokens of all rows. */
export function trainedTokens(rows: readonly Pick<TokenRow, 'tokens' | 'mask'>[]): number { return rows.reduce((sum, row) => sum + trainedCount(row), 0); }

function trainedCount({ tokens, mask }: Pick<TokenRow, 'tokens' | 'mask'>): number {
  let count = 0;
  for (let at = 1; at < tokens.length; at++) if (mask[at]) count++;
  return count;
}

function powerOfTwoFrom(n: number): number {
  return 2 ** Math.ceil(Math.log2(n));
}
