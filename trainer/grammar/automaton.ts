import { TrainerError } from '../protocol/errors.ts';
import type { Algebra, Automaton, Expr } from './expressions.ts';

const maxStates = 20_000;

/**
 * A regular expression (with `both` and `not`) as an automaton without dead ends; null when it matches nothing.
 * Throws TrainerError `bad_input` when it has more than 20,000 states.
 */
export function toAutomaton(algebra: Algebra, start: Expr): Automaton | null {
  const { classOf, representatives } = byteClasses(start);
  const classes = representatives.length;
  const numbers = new Map([[start, 0]]);
  const states = [start];
  const rows: number[] = [];
  for (let state = 0; state < states.length; state++) {
    for (const byte of representatives) {
      const to = algebra.after(states[state] as Expr, byte);
      let number = numbers.get(to);
      if (number === undefined) {
        numbers.set(to, number = states.length);
        states.push(to);
        if (number >= maxStates) throw new TrainerError('bad_input', `it needs more than ${maxStates} states; a smaller maxLength or a simpler pattern would do`);
      }
      rows.push(number);
    }
  }
  const live = reachingBack(rows, classes, states.map(({ nullable }) => nullable));
  if (!live[0]) return null;
  return { classOf, classes, next: Int32Array.from(rows, (to) => (live[to] ? to : -1)), accepts: Uint8Array.from(states, ({ nullable }) => (nullable ? 1 : 0)) };
}

/** Which states can reach an accepting one. */
function reachingBack(rows: readonly number[], classes: number, accepts: readonly boolean[]): boolean[] {
  const from: number[][] = accepts.map(() => []);
  rows.forEach((to, i) => from[to]?.push(Math.floor(i / classes)));
  const live = [...accepts];
  const queue = live.flatMap((is, state) => (is ? [state] : []));
  for (let state = queue.pop(); state !== undefined; state = queue.pop()) {
    for (const before of from[state] ?? []) {
      if (live[before]) continue;
      live[before] = true;
      queue.push(before);
    }
  }
  return live;
}

/** Bytes that no part of the expression tells apart share a class. */
function byteClasses(expr: Expr): { classOf: Uint8Array; representatives: number[] } {
  const marks = new Set<number>([0]);
  const seen = new Set<Expr>();
  const open = [expr];
  for (let part = open.pop(); part; part = open.pop()) {
    if (seen.has(part)) continue;
    seen.add(part);
    if (part.kind === 'bytes') for (const [from, to] of part.ranges) marks.add(from).add(to + 1);
    else if (part.kind === 'automaton') for (let byte = 1; byte < 256; byte++) if (part.automaton.classOf[byte] !== part.automaton.classOf[byte - 1]) marks.add(byte);
    if (part.kind === 'seq') open.push(part.first, part.rest);
    else if (part.kind === 'either') open.push(...part.options);
    else if (part.kind === 'both') open.push(...part.parts);
    else if (part.kind === 'not' || part.kind === 'repeat') open.push(part.of);
  }
  const representatives = [...marks].filter((byte) => byte < 256).sort((a, b) => a - b);
  const classOf = new Uint8Array(256);
  representatives.forEach((from, number) => classOf.fill(number, from));
  return { classOf, representatives };
}
