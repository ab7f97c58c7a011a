import { allCharacters, anyJsonCharacter, jsonCharacter } from './characters.ts';
import { toAutomaton } from './automaton.ts';
import { Algebra, type Expr, type Rule } from './expressions.ts';
import { number } from './numbers.ts';

export interface Member { name: string; value: Expr; required: boolean }

/** JSON as expressions. Between tokens at most one blank after a colon or comma: a model that may write blanks anywhere may never end. */
export class JsonText {
  readonly algebra = new Algebra();
  /** A character of a string, however it is written. */
  readonly anyCharacter: Expr;
  /** A character of a string as JSON.stringify writes it: one text has one form, so that patterns and names can be compared. */
  readonly character: Expr;
  readonly comma: Expr;
  readonly colon: Expr;
  readonly #quote: Expr;
  #any: Expr | null = null;

  constructor() {
    const { algebra } = this;
    this.anyCharacter = anyJsonCharacter(algebra);
    this.character = jsonCharacter(algebra, allCharacters);
    this.comma = algebra.seq(algebra.text(','), algebra.optional(algebra.text(' ')));
    this.colon = algebra.seq(algebra.text(':'), algebra.optional(algebra.text(' ')));
    this.#quote = algebra.text('"');
  }

  /** A string of `min` to `max` characters. */
  string(min = 0, max = Infinity): Expr { return this.quoted(min > max ? this.algebra.none : this.algebra.repeat(this.anyCharacter, min, max)); }

  quoted(insides: Expr): Expr { return this.algebra.seq(this.#quote, insides, this.#quote); }

  /** A string whose insides all the regular expressions match. */
  stringLike(...insides: Expr[]): Expr {
    const found = toAutomaton(this.algebra, this.algebra.both(this.algebra.repeat(this.character, 0), ...insides));
    return found ? this.quoted(this.algebra.automaton(found, 0)) : this.algebra.none;
  }

  /** `min` to `max` items, those at the beginning as in `first`. */
  array(first: readonly Expr[], items: Expr, min = 0, max = Infinity): Expr {
    const { algebra } = this;
    if (min > max) return algebra.none;
    const counted = Math.max(1, first.length); // items that are not in `further`
    const further = algebra.repeat(algebra.seq(this.comma, items), Math.max(0, min - counted), Math.max(0, max - counted));
    const beyond = first.length === 0 ? algebra.seq(items, further) : further;
    let rest = max < counted ? algebra.end : first.length === 0 && min === 0 ? algebra.optional(beyond) : beyond;
    for (let n = first.length - 1; n >= 0; n--) {
      const more = n < max ? algebra.seq(n > 0 ? this.comma : algebra.end, first[n] as Expr, rest) : algebra.none;
      rest = n >= min ? algebra.optional(more) : more;
    }
    return algebra.seq(algebra.text('['), rest, algebra.text(']'));
  }

  /** The members in this order, those not required or not there, then any number of members with other names. */
  object(members: readonly Member[], additional: Expr): Expr {
    const { algebra } = this;
    const names = members.map(({ name }) => algebra.text(JSON.stringify(name).slice(1, -1)));
    const otherName = additional === algebra.none ? algebra.none : this.stringLike(algebra.not(algebra.either(...names)));
    const other = algebra.seq(otherName, this.colon, additional);
    let after = algebra.repeat(algebra.seq(this.comma, other), 0);
    let first = algebra.optional(algebra.seq(other, after));
    for (const { name, value, required } of [...members].reverse()) {
      const pair = algebra.seq(algebra.text(JSON.stringify(name)), this.colon, value);
      const [present, begun] = [algebra.seq(this.comma, pair, after), algebra.seq(pair, after)];
      first = required ? begun : algebra.either(begun, first);
      after = required ? present : algebra.either(present, after);
    }
    return algebra.seq(algebra.text('{'), first, algebra.text('}'));
  }

  /** Exactly this value. */
  literal(value: unknown): Expr {
    if (Array.isArray(value)) return this.array(value.map((item) => this.literal(item)), this.algebra.none, value.length);
    if (typeof value !== 'object' || value === null) return this.algebra.text(JSON.stringify(value));
    return this.object(Object.entries(value).map(([name, inner]) => ({ name, value: this.literal(inner), required: true })), this.algebra.none);
  }

  /** Any value. */
  any(): Expr {
    if (this.#any) return this.#any;
    const { algebra } = this;
    const rule: Rule = { body: null };
    const value = this.#any = algebra.rule(rule);
    rule.body = algebra.either(this.object([], value), this.array([], value), this.string(), number(algebra, {}), ...['true', 'false', 'null'].map((word) => algebra.text(word)));
    return value;
  }
}
