import type { Algebra, Expr } from './expressions.ts';
import type { SortedTokens, Vocabulary } from './vocabulary.ts';

/** Masks kept of one grammar, in bytes. */
const cacheBytes = 16 * 2 ** 20;

/** Which tokens may come in each state of a grammar, as bit masks over the ids (see TokenConstraint). */
export class TokenMasks {
  readonly #algebra: Algebra;
  readonly #vocabulary: Vocabulary;
  /** Expressions for one character of a string, any plain character included. */
  readonly #characters: ReadonlySet<Expr>;
  readonly #known = new Map<Expr, Uint32Array>();
  readonly #plainUpTo: Uint32Array[] = [];

  constructor(algebra: Algebra, vocabulary: Vocabulary, characters: readonly Expr[]) {
    this.#algebra = algebra;
    this.#vocabulary = vocabulary;
    this.#characters = new Set(characters);
  }

  /** The mask in this state; not to be written to. All zero when the vocabulary has no way on. */
  of(state: Expr): Uint32Array {
    let mask = this.#known.get(state);
    if (mask) this.#known.delete(state); // to the end of the line: the oldest go first
    else mask = this.#compute(state);
    this.#known.set(state, mask);
    if (this.#known.size * mask.byteLength > cacheBytes) this.#known.delete(this.#known.keys().next().value as Expr);
    return mask;
  }

  #compute(state: Expr): Uint32Array {
    const { words, stopIds, plain, other, longest } = this.#vocabulary;
    const mask = new Uint32Array(words);
    if (state.nullable) for (const id of stopIds) set(mask, id);
    const room = Math.max(...(state.kind === 'either' ? state.options : [state]).map((option) => this.#room(option)));
    if (room > 0) this.#plain(Math.min(room, longest)).forEach((word, i) => { mask[i] = (mask[i] as number) | word; });
    // One string and nothing else: longer plain tokens do not fit.
    const isString = state.kind !== 'either' && room > 0;
    if (room < longest && !isString) this.#walk(state, plain, mask);
    this.#walk(state, other, mask);
    return mask;
  }

  /** How many more plain characters a state in the middle of a free string takes; 0 when it is not one. */
  #room(state: Expr): number {
    const first = state.kind === 'seq' ? state.first : state;
    if (this.#characters.has(first)) return 1;
    return first.kind === 'repeat' && this.#characters.has(first.of) ? first.max : 0;
  }

  /** The plain tokens of at most `count` characters. */
  #plain(count: number): Uint32Array {
    const known = this.#plainUpTo[count];
    if (known) return known;
    const { words, plain, characters } = this.#vocabulary;
    const mask = this.#plainUpTo[count] = new Uint32Array(words);
    for (const id of plain.ids) if ((characters[id] as number) <= count) set(mask, id);
    return mask;
  }

  /** Sets the bits of all tokens of the list that the state takes, going through common beginnings once. */
  #walk(state: Expr, { ids, starts, bytes, shared }: SortedTokens, mask: Uint32Array): void {
    const { none } = this.#algebra;
    const states: Expr[] = [state]; // after each byte of the token at hand
    let reached = 0; // bytes of it that the state takes
    for (let i = 0; i < ids.length; i++) {
      const common = shared[i] as number;
      if (common > reached) continue; // begins like a token that was stopped before
      const start = starts[i] as number;
      const length = (starts[i + 1] as number) - start;
      let current = states[common] as Expr;
      reached = common;
      while (reached < length) {
        current = this.#algebra.after(current, bytes[start + reached] as number);
        if (current === none) break;
        states[++reached] = current;
      }
      if (reached === length) set(mask, ids[i] as number);
    }
  }
}

function set(mask: Uint32Array, id: number): void { mask[id >> 5] = (mask[id >> 5] as number) | (1 << (id & 31)); }
