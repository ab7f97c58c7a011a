import { Detokenizer } from './detokenizer.ts';

/**
 * What the ids of a tokenizer stand for, as plain data that can be posted to another thread: opening a tokenizer of 262,144 tokens
 * takes seconds, and whoever only reads answers needs no more than this.
 */
export interface TokenTable {
  /** Of all tokens after each other, those of id i up to `ends[i]`. */
  bytes: Uint8Array;
  ends: Uint32Array;
  /** Tokens that print nothing. */
  special: ReadonlySet<number>;
  /** A blank at the beginning of a text belongs to its first token alone. */
  stripsFirstBlank: boolean;
}

export function tokenTable(tokens: readonly (Uint8Array | undefined)[], special: ReadonlySet<number>, stripsFirstBlank: boolean): TokenTable {
  const ends = new Uint32Array(tokens.length);
  let end = 0;
  for (let id = 0; id < tokens.length; id++) ends[id] = end += tokens[id]?.length ?? 0;
  const bytes = new Uint8Array(end);
  for (let id = 0; id < tokens.length; id++) bytes.set(tokens[id] ?? [], ends[id - 1] ?? 0);
  return { bytes, ends, special, stripsFirstBlank };
}

/** Reads tokens; a ModelTokenizer does too. */
export class TokenReader {
  readonly #table: TokenTable;

  constructor(table: TokenTable) { this.#table = table; }

  detokenizer(): Detokenizer { return new Detokenizer((id) => (this.#table.special.has(id) ? undefined : this.bytesOf(id)), this.#table.stripsFirstBlank); }

  /** The bytes a token stands for, special tokens written out. */
  bytesOf(id: number): Uint8Array {
    const { bytes, ends } = this.#table;
    return bytes.subarray(ends[id - 1] ?? 0, ends[id] ?? 0);
  }
}
