/** Bytes of each token id; `undefined` for ids that print nothing (special tokens) or do not exist. */
export type TokenBytes = (id: number) => Uint8Array | undefined;

/**
 * Text of a growing list of tokens. A token may end inside a UTF-8 character: its bytes are held back until the character is complete.
 * The pieces joined equal the text of all bytes; invalid bytes become U+FFFD.
 */
export class Detokenizer {
  readonly #bytes: TokenBytes;
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  readonly #stripsFirstBlank: boolean;
  #atStart = true;

  /** `stripsFirstBlank`: a blank at the beginning belongs to the first token alone, not to the text (SentencePiece). */
  constructor(bytes: TokenBytes, stripsFirstBlank = false) {
    this.#bytes = bytes;
    this.#stripsFirstBlank = stripsFirstBlank;
  }

  push(id: number): string {
    const bytes = this.#bytes(id);
    if (!bytes?.length) return '';
    const isFirst = this.#atStart;
    this.#atStart = false;
    return this.#decoder.decode(isFirst && this.#stripsFirstBlank && bytes[0] === 0x20 ? bytes.subarray(1) : bytes, { stream: true });
  }

  /** What is still held back; after it the detokenizer starts anew. */
  end(): string {
    this.#atStart = true;
    return this.#decoder.decode();
  }
}

/** Byte-level BPE (GPT-2) writes each byte as one printable character; this maps back. */
export function byteLevelAlphabet(): Map<string, number> {
  const printable = (b: number) => (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || (b >= 0xae && b <= 0xff);
  const alphabet = new Map<string, number>();
  let next = 256;
  for (let byte = 0; byte < 256; byte++) alphabet.set(String.fromCharCode(printable(byte) ? byte : next++), byte);
  return alphabet;
}

/** Cuts a stream of text at the first stop string, which is not part of the text. Holds back what may be the beginning of one. */
export class StopMatcher {
  readonly #stops: readonly string[];
  #held = '';
  stopped = false;

  constructor(stops: readonly string[]) { this.#stops = stops.filter((stop) => stop !== ''); }

  push(text: string): string {
    if (this.stopped) return '';
    const all = this.#held + text;
    const first = Math.min(...this.#stops.map((stop) => all.indexOf(stop)).filter((at) => at >= 0));
    if (first !== Infinity) {
      this.stopped = true;
      this.#held = '';
      return all.slice(0, first);
    }
    const keep = Math.max(0, ...this.#stops.map((stop) => overlap(all, stop)));
    this.#held = all.slice(all.length - keep);
    return all.slice(0, all.length - keep);
  }

  end(): string {
    const rest = this.#held;
    this.#held = '';
    return rest;
  }
}

/** Length of the longest end of `text` that `stop` begins with. */
function overlap(text: string, stop: string): number {
  for (let n = Math.min(text.length, stop.length - 1); n > 0; n--) if (text.endsWith(stop.slice(0, n))) return n;
  return 0;
}
