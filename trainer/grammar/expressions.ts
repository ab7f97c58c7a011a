/** Bytes as sorted ranges, both ends included. */
export type ByteRanges = readonly (readonly [from: number, to: number])[];

/** A finite automaton over bytes without dead ends: from every state one that accepts can be reached. `next` [states, classes]: -1 = no way on. */
export interface Automaton { classOf: Uint8Array; classes: number; next: Int32Array; accepts: Uint8Array }

type Shape =
  | { kind: 'none' } // matches nothing
  | { kind: 'end' } // matches the empty text only
  | { kind: 'bytes'; ranges: ByteRanges }
  | { kind: 'seq'; first: Expr; rest: Expr }
  | { kind: 'either'; options: readonly Expr[] }
  | { kind: 'both'; parts: readonly Expr[] }
  | { kind: 'not'; of: Expr }
  | { kind: 'repeat'; of: Expr; min: number; max: number }
  | { kind: 'automaton'; automaton: Automaton; state: number }
  | { kind: 'rule'; rule: Rule };

/** A grammar expression: a set of byte strings. Equal expressions of one algebra are the same object. */
export type Expr = Shape & { readonly id: number; readonly nullable: boolean; readonly known: KnownDerivatives };

/** What follows each byte, as far as it has been asked for in this epoch of the algebra. */
interface KnownDerivatives { epoch: number; after: (Expr | undefined)[] }

/** An expression that may refer to itself. It never matches the empty text, and consumes a byte before it recurs. */
export interface Rule { body: Expr | null }

/** Expressions kept between two tokens. */
const maxKept = 20_000;

/**
 * Expressions and their derivatives (Brzozowski 1964; for context-free grammars: Might, Darais, Spiewak 2011): what remains
 * of an expression after a byte is an expression again, so an expression is also the state of its own matcher.
 */
export class Algebra {
  #interned = new Map<string, Expr>();
  #epoch = 0;
  readonly #automata = new Map<Automaton, number>();
  readonly #rules = new Map<Rule, number>();
  #nextId = 0;
  readonly none: Expr = this.#make('none', { kind: 'none' }, false);
  readonly end: Expr = this.#make('end', { kind: 'end' }, true);

  bytes(ranges: ByteRanges): Expr {
    return ranges.length === 0 ? this.none : this.#make(`b${ranges.join(';')}`, { kind: 'bytes', ranges }, false);
  }

  /** The text itself, as UTF-8. */
  text(text: string): Expr {
    return this.seq(...[...new TextEncoder().encode(text)].map((byte) => this.bytes([[byte, byte]])));
  }

  seq(...parts: Expr[]): Expr {
    return parts.reduceRight((rest, first) => this.#pair(first, rest), this.end);
  }

  either(...options: Expr[]): Expr {
    const flat = new Set<Expr>();
    for (const option of options) for (const one of option.kind === 'either' ? option.options : [option]) if (one !== this.none) flat.add(one);
    if (flat.size === 0) return this.none;
    const sorted = [...flat].sort((a, b) => a.id - b.id);
    if (sorted.length === 1) return sorted[0] as Expr;
    return this.#make(`e${sorted.map(({ id }) => id).join()}`, { kind: 'either', options: sorted }, sorted.some(({ nullable }) => nullable));
  }

  optional(of: Expr): Expr { return this.either(this.end, of); }

  /** Regular expressions only, to be made an automaton: as part of a grammar it would not see dead ends. */
  both(...parts: Expr[]): Expr {
    const sorted = [...new Set(parts.flatMap((part) => (part.kind === 'both' ? part.parts : [part])))].sort((a, b) => a.id - b.id);
    if (sorted.includes(this.none)) return this.none;
    if (sorted.length === 1) return sorted[0] as Expr;
    return this.#make(`a${sorted.map(({ id }) => id).join()}`, { kind: 'both', parts: sorted }, sorted.every(({ nullable }) => nullable));
  }

  /** Every byte string that `of` does not match. As `both`. */
  not(of: Expr): Expr { return of.kind === 'not' ? of.of : this.#make(`n${of.id}`, { kind: 'not', of }, !of.nullable); }

  repeat(of: Expr, min: number, max = Infinity): Expr {
    const least = of.nullable ? 0 : min;
    if (max === 0 || of === this.end) return this.end;
    if (of === this.none) return least === 0 ? this.end : this.none;
    if (least === 1 && max === 1) return of;
    return this.#make(`r${of.id},${least},${max}`, { kind: 'repeat', of, min: least, max }, least === 0);
  }

  automaton(automaton: Automaton, state: number): Expr {
    const { next, classes, accepts } = automaton;
    if (!next.subarray(state * classes, (state + 1) * classes).some((to) => to >= 0)) return accepts[state] ? this.end : this.none;
    return this.#make(`d${numberOf(this.#automata, automaton)},${state}`, { kind: 'automaton', automaton, state }, accepts[state] === 1);
  }

  rule(rule: Rule): Expr { return this.#make(`u${numberOf(this.#rules, rule)}`, { kind: 'rule', rule }, false); }

  /** What may follow `byte`; `none` when it may not come. */
  after(expr: Expr, byte: number): Expr {
    const { known } = expr;
    if (known.epoch !== this.#epoch) {
      known.epoch = this.#epoch;
      known.after = new Array<Expr | undefined>(256);
    }
    return known.after[byte] ??= this.#derive(expr, byte);
  }

  /** Forgets what was derived, once it is much. Expressions in use stay good; equal ones may be built again, so not in the middle of comparing them. */
  trim(): void {
    if (this.#interned.size < maxKept) return;
    this.#interned = new Map([['none', this.none], ['end', this.end]]);
    this.#epoch += 1;
  }

  #derive(expr: Expr, byte: number): Expr {
    switch (expr.kind) {
      case 'none': case 'end': return this.none;
      case 'bytes': return expr.ranges.some(([from, to]) => from <= byte && byte <= to) ? this.end : this.none;
      case 'seq': {
        const through = this.#pair(this.after(expr.first, byte), expr.rest);
        return expr.first.nullable ? this.either(through, this.after(expr.rest, byte)) : through;
      }
      case 'either': return this.either(...expr.options.map((option) => this.after(option, byte)));
      case 'both': return this.both(...expr.parts.map((part) => this.after(part, byte)));
      case 'not': return this.not(this.after(expr.of, byte));
      case 'repeat': return this.#pair(this.after(expr.of, byte), this.repeat(expr.of, Math.max(0, expr.min - 1), expr.max - 1));
      case 'automaton': {
        const { automaton: { classOf, classes, next }, state } = expr;
        const to = next[state * classes + (classOf[byte] as number)] as number;
        return to < 0 ? this.none : this.automaton(expr.automaton, to);
      }
      case 'rule': return this.after(expr.rule.body as Expr, byte);
    }
  }

  #pair(first: Expr, rest: Expr): Expr {
    if (first === this.none || rest === this.none) return this.none;
    if (first === this.end) return rest;
    if (rest === this.end) return first;
    const parts: Expr[] = [];
    let last = first;
    for (; last.kind === 'seq'; last = last.rest) parts.push(last.first);
    return [...parts, last].reduceRight((then, one) => this.#make(`s${one.id},${then.id}`, { kind: 'seq', first: one, rest: then }, one.nullable && then.nullable), rest);
  }

  #make(key: string, shape: Shape, nullable: boolean): Expr {
    const known = this.#interned.get(key);
    if (known) return known;
    const made: Expr = { ...shape, id: this.#nextId++, nullable, known: { epoch: -1, after: [] } };
    this.#interned.set(key, made);
    return made;
  }
}

function numberOf<T>(numbers: Map<T, number>, one: T): number {
  const known = numbers.get(one);
  if (known !== undefined) return known;
  numbers.set(one, numbers.size);
  return numbers.size - 1;
}
