import type { DecoderConfig } from '../models/decoder-config.ts';
import { keptBytes, rowLength } from './memory.ts';
import { type PackedRow, type RowTrie, type Strategy } from './packed-rows.ts';

/** Packed rows that are run together, padded to `length` tokens each, and to `batch` rows. */
export interface Part { batch: number; length: number; packed: PackedRow[] }

/** Multiply-adds that cost as much as what happens to a score of attention besides its two products (mask, softmax, both their derivatives): measured. */
const perScore = 130;

/** Multiply-adds for a token beyond which a model's computing outweighs compiling graphs for more lengths. */
const manyLengths = 2e7;

/** Work of parts, padding included; that of a layer for one token without its attention is 1. */
export function costOf(parts: readonly Part[], config: DecoderConfig): number {
  const share = (config.heads * (2 * config.headDim + perScore)) / tokenWork(config);
  return parts.reduce((sum, { batch, length }) => sum + batch * length * (1 + share * length), 0);
}

/**
 * Rows as parts of at most `maxTokens` tokens (one row at least), padding included, at the least cost of the layouts that are tried: all rows packed to one length, whichever
 * is best, or long rows apart from short ones. One row to a packed row is among them, so packing never costs more than padding.
 * Lengths come from a small set, because each is a compiled graph; a part needs no more memory than `maxTokens` tokens in rows of `rowLength`, or of the longest row.
 */
export function cheapestLayout(trie: RowTrie, maxTokens: number, config: DecoderConfig): Part[] {
  return trie.order.length === 0 ? [] : layout(trie, trie.order, maxTokens, config);
}

/** One row to a packed row, padded: what packing is measured against. */
export function paddedLayout(trie: RowTrie, maxTokens: number, config: DecoderConfig): Part[] {
  const longest = trie.order.reduce((most, row) => Math.max(most, trie.lengthOf(row)), 0);
  return parts(trie.pack(trie.order, longest, 'alone'), rowsThatFit(lengthBucket(longest, config), maxTokens, config), config);
}

function layout(trie: RowTrie, rows: readonly number[], maxTokens: number, config: DecoderConfig): Part[] {
  const longest = rows.reduce((most, row) => Math.max(most, trie.lengthOf(row)), 0);
  const together = oneLength(trie, rows, longest, maxTokens, config);
  const long = rows.filter((row) => trie.lengthOf(row) > longest / 2);
  if (long.length === rows.length) return together;
  const apart = [...oneLength(trie, long, longest, maxTokens, config), ...layout(trie, rows.filter((row) => trie.lengthOf(row) <= longest / 2), maxTokens, config)];
  return costOf(apart, config) < costOf(together, config) ? apart : together;
}

/** The cheapest of the layouts with packed rows of one length, at least `longest`. */
function oneLength(trie: RowTrie, rows: readonly number[], longest: number, maxTokens: number, config: DecoderConfig): Part[] {
  const shortest = lengthBucket(longest, config);
  const rowsOf = rowsThatFit(shortest, maxTokens, config);
  const total = trie.pack(rows, Infinity, 'next')[0]?.length ?? 0;
  let best = parts(trie.pack(rows, longest, 'alone'), rowsOf, config);
  for (let length = shortest; rowsOf(length) > 0; length = lengthBucket(length + 1, config)) {
    for (const strategy of ['next', 'best'] as Strategy[]) {
      const made = parts(trie.pack(rows, length, strategy), rowsOf, config);
      if (costOf(made, config) < costOf(best, config)) best = made;
    }
    if (length >= total) break;
  }
  return best;
}

/** How many packed rows of a length fit into a part. */
function rowsThatFit(longest: number, maxTokens: number, config: DecoderConfig): (length: number) => number {
  const bytes = (length: number) => keptBytes(config, { batch: 1, length }, false);
  const assumed = Math.max(longest, Math.min(rowLength, maxTokens));
  const memory = (maxTokens / assumed) * bytes(assumed);
  return (length) => Math.max(length === longest ? 1 : 0, Math.floor(Math.min(maxTokens / length, memory / bytes(length))));
}

/** The longest packed rows first, as many at a time as fit. */
function parts(packed: PackedRow[], rowsOf: (length: number) => number, config: DecoderConfig): Part[] {
  packed.sort((a, b) => b.length - a.length);
  const made: Part[] = [];
  for (let start = 0; start < packed.length;) {
    const length = lengthBucket((packed[start] as PackedRow).length, config);
    const capacity = Math.max(1, rowsOf(length));
    const members = packed.slice(start, start + capacity);
    made.push({ batch: Math.min(capacity, 2 ** Math.ceil(Math.log2(members.length))), length, packed: members });
    start += members.length;
  }
  return made;
}

/** Multiply-adds of a layer for a token, without its attention. */
function tokenWork({ hidden, intermediate, heads, kvHeads, headDim }: DecoderConfig): number { return hidden * (2 * heads * headDim + 2 * kvHeads * headDim + 3 * intermediate); }

/** Lengths are rounded up to these: steps of 32, above 256 an eighth to a quarter of the length; for large models above 512 a sixteenth to an eighth. */
export function lengthBucket(length: number, config: DecoderConfig): number {
  const step = Math.max(32, 2 ** (Math.ceil(Math.log2(length)) - (tokenWork(config) * config.layers > manyLengths ? 4 : 3)));
  return Math.ceil(length / step) * step;
}
