import { TrainerError } from '../protocol/errors.ts';
import type { Algebra, Expr } from './expressions.ts';
import { TokenMasks } from './token-masks.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Texts a model may write, for one vocabulary. */
export class Grammar {
  readonly start: Expr;
  readonly algebra: Algebra;
  readonly masks: TokenMasks;
  readonly vocabulary: Vocabulary;

  /** `characters`: expressions of one character that take any plain one (see TokenMasks). */
  constructor(algebra: Algebra, start: Expr, vocabulary: Vocabulary, characters: readonly Expr[]) {
    this.algebra = algebra;
    this.start = start;
    this.vocabulary = vocabulary;
    this.masks = new TokenMasks(algebra, vocabulary, characters);
  }

  constraint(): GrammarConstraint { return new GrammarConstraint(this); }
}

/** One answer on its way through a grammar. */
export class GrammarConstraint {
  readonly #grammar: Grammar;
  #state: Expr;
  #ended = false;

  constructor(grammar: Grammar) {
    this.#grammar = grammar;
    this.#state = grammar.start;
  }

  /** Bit t & 31 of word t >> 5 is set for each token t that may come next. Throws TrainerError `bad_input` when the vocabulary has none. */
  allowed(): Uint32Array {
    const mask = this.#grammar.masks.of(this.#state);
    if (mask.every((word) => word === 0)) throw new TrainerError('bad_input', 'The tokens of this model cannot write what the format asks for. Use another model, or no response format.');
    return mask;
  }

  accept(token: number): void {
    const { algebra, vocabulary } = this.#grammar;
    algebra.trim();
    if (this.#state.nullable && vocabulary.stopIds.includes(token)) this.#ended = true;
    else for (const byte of vocabulary.bytesOf(token) ?? []) this.#state = algebra.after(this.#state, byte);
  }

  /** Nothing but the end may follow. */
  get complete(): boolean { return this.#ended || this.#state === this.#grammar.algebra.end; }
}
