import type { Algebra, ByteRanges, Expr } from './expressions.ts';

/** Unicode code points as ranges, both ends included. */
export type CodePoints = readonly (readonly [from: number, to: number])[];

/** Every character there is; surrogates are none. */
export const allCharacters: CodePoints = [[0, 0xd7ff], [0xe000, 0x10ffff]];
/** What a JSON string may hold unescaped (RFC 8259 §7). */
export const plainCharacters: CodePoints = [[0x20, 0x21], [0x23, 0x5b], [0x5d, 0xd7ff], [0xe000, 0x10ffff]];

export function intersect(a: CodePoints, b: CodePoints): CodePoints {
  const found = a.flatMap(([from, to]) => b.map(([start, end]) => [Math.max(from, start), Math.min(to, end)] as const)).filter(([from, to]) => from <= to);
  return union(found);
}

export function union(ranges: CodePoints): CodePoints {
  const merged: [number, number][] = [];
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

export function complement(ranges: CodePoints): CodePoints {
  const gaps: [number, number][] = [];
  let next = 0;
  for (const [from, to] of union(ranges)) {
    if (from > next) gaps.push([next, from - 1]);
    next = to + 1;
  }
  if (next <= 0x10ffff) gaps.push([next, 0x10ffff]);
  return intersect(gaps, allCharacters);
}

/** One of the characters, as UTF-8. */
export function utf8(algebra: Algebra, points: CodePoints): Expr {
  return algebra.either(...lengths.flatMap(([first, last]) => intersect(points, [[first, last]]).map(([from, to]) => sameLength(algebra, encoded(from), encoded(to)))));
}

/** Code points whose UTF-8 has one, two, three and four bytes. */
const lengths = [[0, 0x7f], [0x80, 0x7ff], [0x800, 0xffff], [0x10000, 0x10ffff]] as const;

/** The encodings from `low` to `high`, which are of one length and in order. */
function sameLength(algebra: Algebra, low: readonly number[], high: readonly number[]): Expr {
  const [a, ...restLow] = low as [number, ...number[]];
  const [b, ...restHigh] = high as [number, ...number[]];
  if (restLow.length === 0) return algebra.bytes([[a, b]]);
  if (a === b) return algebra.seq(algebra.bytes([[a, a]]), sameLength(algebra, restLow, restHigh));
  const first = restLow.map(() => 0x80);
  const last = restLow.map(() => 0xbf);
  const lowFull = restLow.every((byte) => byte === 0x80);
  const highFull = restHigh.every((byte) => byte === 0xbf);
  const [from, to] = [lowFull ? a : a + 1, highFull ? b : b - 1];
  const between = from <= to ? [algebra.seq(algebra.bytes([[from, to]]), sameLength(algebra, first, last))] : [];
  const ends = [
    ...(lowFull ? [] : [algebra.seq(algebra.bytes([[a, a]]), sameLength(algebra, restLow, last))]),
    ...(highFull ? [] : [algebra.seq(algebra.bytes([[b, b]]), sameLength(algebra, first, restHigh))]),
  ];
  return algebra.either(...between, ...ends);
}

function encoded(point: number): number[] { return [...new TextEncoder().encode(String.fromCodePoint(point))]; }

/** One of the characters as JSON.stringify writes it inside a string. */
export function jsonCharacter(algebra: Algebra, points: CodePoints): Expr {
  const escaped = intersect(points, complement(plainCharacters)).flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, i) => String.fromCodePoint(from + i)));
  return algebra.either(utf8(algebra, intersect(points, plainCharacters)), ...escaped.map((char) => algebra.text(JSON.stringify(char).slice(1, -1))));
}

/** One character in any way JSON may write it; half of a surrogate pair is none. */
export function anyJsonCharacter(algebra: Algebra): Expr {
  const one = (...chars: string[]) => algebra.bytes(chars.map((range) => [range.charCodeAt(0), range.charCodeAt(range.length - 1)] as const).sort((a, b) => a[0] - b[0]) satisfies ByteRanges);
  const hex = one('09', 'AF', 'af');
  const d = one('D', 'd');
  const unit = algebra.either(algebra.seq(one('09', 'AC', 'EF', 'ac', 'ef'), hex, hex, hex), algebra.seq(d, one('07'), hex, hex));
  const pair = algebra.seq(d, one('89', 'AB', 'ab'), hex, hex, algebra.text('\\u'), d, one('CF', 'cf'), hex, hex);
  const escape = algebra.either(one('"', '\\', '/', 'b', 'f', 'n', 'r', 't'), algebra.seq(one('u'), algebra.either(unit, pair)));
  return algebra.either(utf8(algebra, plainCharacters), algebra.seq(algebra.text('\\'), escape));
}
