import { RegExpParser, type AST } from '@eslint-community/regexpp';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import { allCharacters, complement, jsonCharacter, union, type CodePoints } from './characters.ts';
import type { Algebra, Expr } from './expressions.ts';

/**
 * The insides of a JSON string whose text the regular expression (ECMA 262, flag u) is found in, as JSON.stringify writes them.
 * For `toAutomaton` only. Throws TrainerError `bad_input` for what is no regular language: back-references, look-behind, \b.
 */
export function pattern(algebra: Algebra, source: string): Expr {
  let parsed: AST.Pattern;
  try {
    parsed = new RegExpParser({ ecmaVersion: 2024 }).parsePattern(source, 0, source.length, { unicode: true });
  } catch (error) {
    throw new TrainerError('bad_input', `it is not a regular expression with the flag u: ${messageOf(error)}`);
  }
  const character = jsonCharacter(algebra, allCharacters);
  const rest = algebra.repeat(character, 0);
  const translation = new Translation(algebra, rest);
  const atStart = translation.alternatives(parsed.alternatives, rest, 'start');
  const later = translation.alternatives(parsed.alternatives, rest, 'later');
  return algebra.either(atStart, algebra.seq(character, rest, later));
}

/** Where a part of the pattern begins: at the start of the text, after at least one character, or either. */
type Place = 'start' | 'later' | 'unknown';

/** Parts of a pattern followed by `then`, what the rest of the text must be; assertions are conditions on that rest. */
class Translation {
  readonly #algebra: Algebra;
  readonly #anything: Expr;

  constructor(algebra: Algebra, anything: Expr) {
    this.#algebra = algebra;
    this.#anything = anything;
  }

  alternatives(alternatives: readonly AST.Alternative[], then: Expr, place: Place): Expr {
    return this.#algebra.either(...alternatives.map(({ elements }) => {
      const places: Place[] = [];
      let at = place;
      for (const element of elements) {
        places.push(at);
        at = after(element, at);
      }
      return elements.reduceRight((rest, element, i) => this.#element(element, rest, places[i] as Place), then);
    }));
  }

  #element(element: AST.Element, then: Expr, place: Place): Expr {
    const algebra = this.#algebra;
    switch (element.type) {
      case 'Character': case 'CharacterSet': case 'CharacterClass': return algebra.seq(jsonCharacter(algebra, characters(element)), then);
      case 'Group': case 'CapturingGroup':
        if (element.type === 'Group' && element.modifiers) throw unsupported(element);
        return this.alternatives(element.alternatives, then, place);
      case 'Quantifier': {
        if (holdsAssertion(element.element)) {
          if (element.max > 1) throw unsupported(element);
          return algebra.either(element.min === 0 ? then : algebra.none, element.max === 0 ? then : this.#element(element.element, then, place));
        }
        return algebra.seq(algebra.repeat(this.#element(element.element, algebra.end, place), element.min, element.max), then);
      }
      case 'Assertion': return this.#assertion(element, then, place);
      default: throw unsupported(element);
    }
  }

  #assertion(assertion: AST.Assertion, then: Expr, place: Place): Expr {
    const algebra = this.#algebra;
    if (assertion.kind === 'end') return then.nullable ? algebra.end : algebra.none;
    if (assertion.kind === 'start' && place !== 'unknown') return place === 'start' ? then : algebra.none;
    if (assertion.kind !== 'lookahead') throw unsupported(assertion);
    const ahead = this.alternatives(assertion.alternatives, this.#anything, place);
    return algebra.both(assertion.negate ? algebra.not(ahead) : ahead, then);
  }
}

function after(element: AST.Element, place: Place): Place {
  if (place === 'later' || element.type === 'Assertion') return place;
  return mayBeEmpty(element) ? 'unknown' : 'later';
}

function mayBeEmpty(element: AST.Element): boolean {
  if (element.type === 'Assertion') return true;
  if (element.type === 'Quantifier') return element.min === 0 || mayBeEmpty(element.element);
  return (element.type === 'Group' || element.type === 'CapturingGroup') && element.alternatives.some(({ elements }) => elements.every(mayBeEmpty));
}

function holdsAssertion(element: AST.Element): boolean {
  if (element.type === 'Quantifier') return holdsAssertion(element.element);
  if (element.type === 'Group' || element.type === 'CapturingGroup') return element.alternatives.some(({ elements }) => elements.some(holdsAssertion));
  return element.type === 'Assertion';
}

function characters(element: AST.Element | AST.CharacterClassElement): CodePoints {
  switch (element.type) {
    case 'Character': return [[element.value, element.value]];
    case 'CharacterClassRange': return [[element.min.value, element.max.value]];
    case 'CharacterClass': {
      const all = union(element.elements.flatMap(characters));
      return element.negate ? complement(all) : all;
    }
    case 'CharacterSet': {
      if (element.kind === 'any') return complement(lineEnds);
      if (element.kind !== 'property') return element.negate ? complement(escapeSets[element.kind]) : escapeSets[element.kind];
      return property(element.raw);
    }
    default: throw unsupported(element);
  }
}

const lineEnds: CodePoints = [[0x0a, 0x0a], [0x0d, 0x0d], [0x2028, 0x2029]];
const escapeSets: Record<'digit' | 'space' | 'word', CodePoints> = {
  digit: [[0x30, 0x39]],
  space: [[0x09, 0x0d], [0x20, 0x20], [0xa0, 0xa0], [0x1680, 0x1680], [0x2000, 0x200a], [0x2028, 0x2029], [0x202f, 0x202f], [0x205f, 0x205f], [0x3000, 0x3000], [0xfeff, 0xfeff]],
  word: [[0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]],
};

const properties = new Map<string, CodePoints>();

/** The characters of \p{…}, as this program's own regular expressions see them. */
function property(raw: string): CodePoints {
  let found = properties.get(raw);
  if (!found) {
    const expression = new RegExp(`^${raw}$`, 'u');
    const ranges: [number, number][] = [];
    for (const [from, to] of allCharacters) {
      for (let point = from; point <= to; point++) {
        if (!expression.test(String.fromCodePoint(point))) continue;
        const last = ranges.at(-1);
        if (last?.[1] === point - 1) last[1] = point;
        else ranges.push([point, point]);
      }
    }
    properties.set(raw, found = ranges);
  }
  return found;
}

function unsupported({ raw }: AST.Node): TrainerError {
  return new TrainerError('bad_input', `"${raw}" in it is not supported`);
}
