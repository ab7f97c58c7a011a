import type { Algebra, Expr } from './expressions.ts';
import { toAutomaton } from './automaton.ts';

/** Numbers of at most 15 digits: different ones stay different as doubles. */
const digits = 15;
const largest = 10 ** digits - 1;

export interface Bounds { minimum?: number | undefined; maximum?: number | undefined; exclusiveMinimum?: number | undefined; exclusiveMaximum?: number | undefined }

/** Integers within the bounds and divisible by `multipleOf`, as JSON writes them. */
export function integer(algebra: Algebra, bounds: Bounds, multipleOf: number | undefined): Expr {
  const range = signed(algebra, bounds, 0, (low, high) => wholes(algebra, low, high));
  if (multipleOf === undefined || range === algebra.none) return range;
  const start = toAutomaton(algebra, algebra.both(range, divisible(algebra, multipleOf)));
  return start ? algebra.automaton(start, 0) : algebra.none;
}

/** Numbers within the bounds. Without bounds in scientific notation, too, far below the largest double. */
export function number(algebra: Algebra, bounds: Bounds): Expr {
  const given = Object.values(bounds as Record<string, number | undefined>).filter((bound) => bound !== undefined);
  if (given.length === 0) {
    const digit = range(algebra, 0, 9);
    const whole = algebra.either(algebra.text('0'), algebra.seq(range(algebra, 1, 9), algebra.repeat(digit, 0, digits - 1)));
    const fraction = algebra.seq(algebra.text('.'), algebra.repeat(digit, 1, digits));
    const exponent = algebra.seq(algebra.either(algebra.text('e'), algebra.text('E')), algebra.optional(algebra.either(algebra.text('+'), algebra.text('-'))), algebra.repeat(digit, 1, 2));
    return algebra.seq(algebra.optional(algebra.text('-')), whole, algebra.optional(fraction), algebra.optional(exponent));
  }
  // As many digits before the point as the bounds have, nine at least where one side is open; the rest may follow it.
  const isClosed = (bounds.minimum ?? bounds.exclusiveMinimum) !== undefined && (bounds.maximum ?? bounds.exclusiveMaximum) !== undefined;
  const before = Math.min(digits, Math.max(isClosed ? 1 : 9, ...given.map((bound) => String(Math.trunc(Math.min(largest, Math.abs(bound)))).length)));
  return signed(algebra, bounds, digits - before, (low, high) => decimals(algebra, low, high, digits - before));
}

/** Fixed-point numbers n · 10^-places within the bounds; `magnitudes` gives the texts of those with n from `low` to `high`, both at least 0. */
function signed(algebra: Algebra, bounds: Bounds, places: number, magnitudes: (low: number, high: number) => Expr): Expr {
  const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity } = bounds;
  const reaches = (n: number) => value(n, places) >= minimum && value(n, places) > exclusiveMinimum;
  const stays = (n: number) => value(n, places) <= maximum && value(n, places) < exclusiveMaximum;
  const low = firstWhere(reaches);
  const high = firstWhere((n) => !stays(n)) - 1;
  const negative = low < 0 && low <= high ? magnitudes(Math.max(1, -high), -low) : algebra.none;
  const positive = high >= 0 && low <= high ? magnitudes(Math.max(0, low), high) : algebra.none;
  return algebra.either(algebra.seq(algebra.text('-'), negative), positive);
}

/** The double that the text of n · 10^-places is read as. */
function value(n: number, places: number): number { return Number(`${n}e-${places}`); }

/** The smallest n from -largest on for which a condition, which stays true once it is, is true; largest + 1 when it never is. */
function firstWhere(condition: (n: number) => boolean): number {
  let [low, high] = [-largest, largest + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (condition(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Whole numbers from `low` to `high` without leading zeros. */
function wholes(algebra: Algebra, low: number, high: number): Expr {
  return algebra.either(...Array.from({ length: digits }, (_, i) => {
    const [first, last] = [i === 0 ? 0 : 10 ** i, 10 ** (i + 1) - 1];
    return first > high || last < low ? algebra.none : fixed(algebra, Math.max(low, first), Math.min(high, last), i + 1);
  }));
}

/** Numbers from `low` to `high` of exactly `length` digits. */
function fixed(algebra: Algebra, low: number, high: number, length: number): Expr {
  if (length === 0) return algebra.end;
  return byLeadingDigit(algebra, low, high, length, (restLow, restHigh) => fixed(algebra, restLow, restHigh, length - 1));
}

function decimals(algebra: Algebra, low: number, high: number, places: number): Expr {
  const unit = 10 ** places;
  const [wholeLow, wholeHigh] = [Math.floor(low / unit), Math.floor(high / unit)];
  const part = (from: number, to: number, least: number, most: number) => (from > to ? algebra.none : algebra.seq(wholes(algebra, from, to), fraction(algebra, least, most, places)));
  const [fractionLow, fractionHigh] = [low - wholeLow * unit, high - wholeHigh * unit];
  if (wholeLow === wholeHigh) return part(wholeLow, wholeLow, fractionLow, fractionHigh);
  return algebra.either(part(wholeLow, wholeLow, fractionLow, unit - 1), part(wholeLow + 1, wholeHigh - 1, 0, unit - 1), part(wholeHigh, wholeHigh, 0, fractionHigh));
}

/** Nothing, or a point and 1 to `places` digits, such that the digits padded with zeros are from `low` to `high`. */
function fraction(algebra: Algebra, low: number, high: number, places: number): Expr {
  const some = places === 0 ? algebra.none : algebra.seq(algebra.text('.'), fractionDigits(algebra, low, high, places));
  return low === 0 ? algebra.optional(some) : some;
}

function fractionDigits(algebra: Algebra, low: number, high: number, places: number): Expr {
  if (places === 0) return algebra.none;
  return byLeadingDigit(algebra, low, high, places, (restLow, restHigh) => {
    const more = fractionDigits(algebra, restLow, restHigh, places - 1);
    return restLow === 0 ? algebra.optional(more) : more;
  });
}

/** Digits d·rest: only the smallest and the largest leading digit narrow the rest. */
function byLeadingDigit(algebra: Algebra, low: number, high: number, length: number, rest: (low: number, high: number) => Expr): Expr {
  const unit = 10 ** (length - 1);
  const [first, last] = [Math.floor(low / unit), Math.floor(high / unit)];
  const [restLow, restHigh] = [low - first * unit, high - last * unit];
  const part = (from: number, to: number, least: number, most: number) => (from > to ? algebra.none : algebra.seq(range(algebra, from, to), rest(least, most)));
  if (first === last) return part(first, first, restLow, restHigh);
  const [fromFull, toFull] = [restLow === 0 ? first : first + 1, restHigh === unit - 1 ? last : last - 1];
  return algebra.either(
    fromFull === first ? algebra.none : part(first, first, restLow, unit - 1),
    part(fromFull, toFull, 0, unit - 1),
    toFull === last ? algebra.none : part(last, last, 0, restHigh),
  );
}

function range(algebra: Algebra, from: number, to: number): Expr { return algebra.bytes([[0x30 + from, 0x30 + to]]); }

/** Digits, after a sign or not, of a number divisible by `by`: the states are the remainders. */
function divisible(algebra: Algebra, by: number): Expr {
  const classOf = new Uint8Array(256).fill(11);
  for (let digit = 0; digit <= 9; digit++) classOf[0x30 + digit] = digit;
  classOf[0x2d] = 10;
  const next = new Int32Array((by + 1) * 12).fill(-1);
  for (let state = 0; state <= by; state++) for (let digit = 0; digit <= 9; digit++) next[state * 12 + digit] = ((state === by ? 0 : state) * 10 + digit) % by;
  next[by * 12 + 10] = by; // the last state is the beginning
  const accepts = new Uint8Array(by + 1);
  accepts[0] = 1;
  return algebra.automaton({ classOf, classes: 12, next, accepts }, by);
}
