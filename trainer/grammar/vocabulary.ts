/** Tokens in the order of their bytes; a token shares its first `shared` bytes with the one before it. */
export interface SortedTokens { ids: Int32Array; starts: Int32Array; bytes: Uint8Array; shared: Uint16Array }

/** What a grammar must know of a model's tokens. Tokens that print nothing, end-of-sequence ones among them, are in none of the lists. */
export interface Vocabulary {
  /** Words of a mask over all ids. */
  words: number;
  bytesOf: (id: number) => Uint8Array | undefined;
  stopIds: readonly number[];
  /** Whole characters that a JSON string may hold unescaped: inside a string they are all alike but for their number. */
  plain: SortedTokens;
  other: SortedTokens;
  /** Characters of each plain token, by id; 0 for others. */
  characters: Uint16Array;
  longest: number;
}

/** `size`: number of logits. `bytesOf` is undefined for tokens that print nothing. */
export function readVocabulary(size: number, bytesOf: (id: number) => Uint8Array | undefined, stopIds: Iterable<number>): Vocabulary {
  const stops = new Set(stopIds);
  const characters = new Uint16Array(size);
  const plain: number[] = [];
  const other: number[] = [];
  for (let id = 0; id < size; id++) {
    const bytes = stops.has(id) ? undefined : bytesOf(id);
    if (!bytes?.length) continue;
    const count = plainCharacters(bytes);
    characters[id] = count ?? 0;
    (count === null ? other : plain).push(id);
  }
  const longest = plain.reduce((most, id) => Math.max(most, characters[id] as number), 0);
  const textOf = (id: number) => bytesOf(id) as Uint8Array;
  return { words: Math.ceil(size / 32), bytesOf, stopIds: [...stops], plain: sorted(plain, textOf), other: sorted(other, textOf), characters, longest };
}

function sorted(ids: number[], bytesOf: (id: number) => Uint8Array): SortedTokens {
  const order = ids.map((id) => ({ id, bytes: bytesOf(id) })).sort((a, b) => Buffer.compare(a.bytes, b.bytes));
  const starts = new Int32Array(order.length + 1);
  order.forEach(({ bytes }, i) => { starts[i + 1] = (starts[i] as number) + bytes.length; });
  const bytes = new Uint8Array(starts[order.length] as number);
  order.forEach((token, i) => bytes.set(token.bytes, starts[i]));
  const shared = Uint16Array.from(order, (token, i) => (i === 0 ? 0 : sharedLength(token.bytes, (order[i - 1] as { bytes: Uint8Array }).bytes)));
  return { ids: Int32Array.from(order, ({ id }) => id), starts, bytes, shared };
}

function sharedLength(a: Uint8Array, b: Uint8Array): number {
  let n = 0;
  while (n < a.length && n < b.length && a[n] === b[n]) n++;
  return n;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Number of characters, if all are whole and need no escape in a JSON string; else null. */
function plainCharacters(bytes: Uint8Array): number | null {
  let count = 0;
  let ascii = true;
  for (const byte of bytes) {
    if (byte < 0x20 || byte === 0x22 || byte === 0x5c) return null;
    if (byte >= 0x80) ascii = false;
    if ((byte & 0xc0) !== 0x80) count++;
  }
  if (ascii) return count;
  try {
    utf8.decode(bytes);
    return count;
  } catch {
    return null;
  }
}
