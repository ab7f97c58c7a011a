import { detectAgents } from '../agents/detect.ts';
import type { Edit } from './edits.ts';
import { applyEdits, sorted } from './edits.ts';
import { importsOf } from './imports.ts';
import { functionOfAgent, functionsOf } from './functions.ts';
import { lineEnd, lineStart, mentions, parseSource } from '../../trainer/source/syntax.ts';
import type { PlannedEdit } from './plan.ts';

/** One place that wrapping changed: what stands there now, what stood there before, and what surrounds it. */
export interface Piece { at: number; inserted: string; removed: string; before: string; after: string }

/** What wrapping changed in a file: its imports, once for each wrap that added some, and each function by its name as an agent. */
export interface WrapRecord { imports: Piece[][]; agents: Record<string, Piece[]> }

const contextLength = 40;
/** Context that must still be there around a piece; one that is long and stands in the file only once is known by itself. */
const neededContext = 6;
const longPiece = 12;

/** The record of a wrap added to what the file's record holds already. */
export function recordWrap(known: WrapRecord | undefined, text: string, agent: string, edits: readonly PlannedEdit[]): WrapRecord {
  const after = applyEdits(text, edits);
  const pieces = (chosen: readonly PlannedEdit[]): Piece[] => {
    let moved = 0;
    const all: Piece[] = [];
    for (const edit of sorted(edits)) {
      const at = edit.from + moved;
      moved += edit.insert.length - (edit.to - edit.from);
      if (chosen.includes(edit as PlannedEdit)) {
        const end = at + edit.insert.length;
        all.push({ at, inserted: edit.insert, removed: text.slice(edit.from, edit.to), before: after.slice(Math.max(0, at - contextLength), at), after: after.slice(end, end + contextLength) });
      }
    }
    return all;
  };
  const imports = pieces(edits.filter(({ part }) => part === 'import'));
  return {
    imports: [...known?.imports ?? [], ...imports.length > 0 ? [imports] : []],
    agents: { ...known?.agents, [agent]: pieces(edits.filter(({ part }) => part !== 'import')) },
  };
}

export interface Unwrapping { edits: Edit[]; record: WrapRecord }

/**
 * The edits that give an agent back the bytes it had before it was wrapped, wherever in the file it is by now. The imports go with the
 * last agent of the file. null: what was wrapped has been changed since, so there is no telling what it was.
 */
export function unwrap(fileName: string, text: string, agent: string, record: WrapRecord): Unwrapping | null {
  const pieces = record.agents[agent];
  if (pieces === undefined) return null;
  const edits = locate(text, pieces, placeOf(fileName, text, agent));
  if (edits === null) return null;
  const others = Object.fromEntries(Object.entries(record.agents).filter(([name]) => name !== agent));
  const without = applyEdits(text, edits);
  if (!isSound(fileName, text, without, agent)) return null;
  if (Object.keys(others).length > 0) return { edits, record: { imports: record.imports, agents: others } };
  const original = withoutImports(without, record.imports);
  const isDone = !usesOurs(fileName, without, original);
  return { edits: isDone ? [{ from: 0, to: text.length, insert: original }] : edits, record: { imports: [], agents: {} } };
}

/** Takes the imports out, the latest first: a later one may stand inside an earlier one. One that is not there any more (its wrap was undone) is passed over. */
function withoutImports(text: string, imports: readonly Piece[][]): string {
  let result = text;
  for (const pieces of imports.toReversed()) {
    const edits = locate(result, pieces);
    if (edits !== null) result = applyEdits(result, edits);
  }
  return result;
}

/** Where the agent's function is now: its pieces are there, and not in a function that looks like it. */
function placeOf(fileName: string, text: string, agent: string): { from: number; to: number } | null {
  const source = parseSource(fileName, text);
  const detected = detectAgents(fileName, text).find(({ name }) => name === agent);
  const target = source === null || detected === undefined ? undefined : functionOfAgent(source, functionsOf(source), detected);
  if (target === undefined || detected === undefined) return null;
  // A wrapped function is an argument now; what is around it up to the start of its line is ours too.
  return { from: lineStart(text, Math.min(target.statement.from, detected.from)), to: lineEnd(text, target.node.to) };
}

/** Finds each piece in order, best context first; null when one is not there any more. */
function locate(text: string, pieces: readonly Piece[], place: { from: number; to: number } | null = null): Edit[] | null {
  const edits: Edit[] = [];
  let from = 0;
  let drift = 0;
  for (const piece of [...pieces].sort((a, b) => a.at - b.at)) {
    let best: { at: number; score: number; around: number } | null = null;
    for (let at = text.indexOf(piece.inserted, from); at !== -1; at = text.indexOf(piece.inserted, at + 1)) {
      const isInPlace = place !== null && place.from <= at && at + piece.inserted.trimEnd().length <= place.to;
      const around = context(text, at, piece);
      const score = around + (isInPlace ? 2 * contextLength : 0);
      const isNearer = best !== null && score === best.score && Math.abs(at - piece.at - drift) < Math.abs(best.at - piece.at - drift);
      if (best === null || score > best.score || isNearer) best = { at, score, around };
    }
    if (best === null || (best.around < Math.min(neededContext, piece.before.length + piece.after.length) && !isUnmistakable(text, piece.inserted))) return null;
    edits.push({ from: best.at, to: best.at + piece.inserted.length, insert: piece.removed });
    from = best.at + piece.inserted.length;
    drift = best.at - piece.at;
  }
  return edits;
}

const isUnmistakable = (text: string, inserted: string): boolean => inserted.trim().length >= longPiece && text.indexOf(inserted) === text.lastIndexOf(inserted);

/** How many characters around a place are those that surrounded the piece. */
function context(text: string, at: number, piece: Piece): number {
  let before = 0;
  while (before < piece.before.length && text[at - 1 - before] === piece.before[piece.before.length - 1 - before]) before++;
  let after = 0;
  while (after < piece.after.length && text[at + piece.inserted.length + after] === piece.after[after]) after++;
  return before + after;
}

/** Unwrapping must take exactly this agent away and leave a file that parses no worse. */
function isSound(fileName: string, before: string, after: string, agent: string): boolean {
  const left = detectAgents(fileName, after).map(({ name }) => name);
  const expected = detectAgents(fileName, before).map(({ name }) => name).filter((name) => name !== agent);
  return left.length === expected.length && left.every((name) => expected.includes(name)) && errors(fileName, after) <= errors(fileName, before);
}

export function errors(fileName: string, text: string): number {
  let count = 0;
  parseSource(fileName, text)?.root.cursor().iterate((node) => { if (node.type.isError) count++; });
  return count;
}

/** Whether what is left uses a name that goes with our imports. */
function usesOurs(fileName: string, before: string, after: string): boolean {
  const [now, then] = [parseSource(fileName, before), parseSource(fileName, after)];
  if (now === null || then === null) return true;
  const kept = importsOf(then);
  return [...importsOf(now).keys()].some((name) => !kept.has(name) && mentions(then, then.root, name));
}
