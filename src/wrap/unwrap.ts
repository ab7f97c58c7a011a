import { detectAgents } from '../agents/detect.ts';
import type { Edit } from './edits.ts';
import { applyEdits, sorted } from './edits.ts';
import { mentions, parseSource } from './syntax.ts';
import type { PlannedEdit } from './plan.ts';

/** One place that wrapping changed: what stands there now, what stood there before, and what surrounds it. */
export interface Piece { at: number; inserted: string; removed: string; before: string; after: string }

/** What wrapping changed in a file: its imports once, and each function by its name as an agent. */
export interface WrapRecord { imports: Piece[]; agents: Record<string, Piece[]> }

const contextLength = 40;
const neededContext = 6;

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
  return {
    imports: [...known?.imports ?? [], ...pieces(edits.filter(({ part }) => part === 'import'))],
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
  const edits = locate(text, pieces);
  if (edits === null) return null;
  const others = Object.fromEntries(Object.entries(record.agents).filter(([name]) => name !== agent));
  const without = applyEdits(text, edits);
  if (!isSound(fileName, text, without, agent)) return null;
  const imports = Object.keys(others).length === 0 && !usesOurs(fileName, without, record.imports) ? locate(without, record.imports) : null;
  if (imports === null) return { edits, record: { imports: Object.keys(others).length === 0 ? [] : record.imports, agents: others } };
  const original = applyEdits(without, imports);
  return { edits: whole(text, original), record: { imports: [], agents: {} } };
}

/** Finds each piece in order, best context first; null when one is not there any more. */
function locate(text: string, pieces: readonly Piece[]): Edit[] | null {
  const edits: Edit[] = [];
  let from = 0;
  let drift = 0;
  for (const piece of [...pieces].sort((a, b) => a.at - b.at)) {
    let best: { at: number; score: number } | null = null;
    for (let at = text.indexOf(piece.inserted, from); at !== -1; at = text.indexOf(piece.inserted, at + 1)) {
      const score = context(text, at, piece);
      const isNearer = best !== null && score === best.score && Math.abs(at - piece.at - drift) < Math.abs(best.at - piece.at - drift);
      if (best === null || score > best.score || isNearer) best = { at, score };
    }
    if (best === null || best.score < Math.min(neededContext, piece.before.length + piece.after.length)) return null;
    edits.push({ from: best.at, to: best.at + piece.inserted.length, insert: piece.removed });
    from = best.at + piece.inserted.length;
    drift = best.at - piece.at;
  }
  return edits;
}

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

/** Whether the file still uses a name that our imports brought. */
function usesOurs(fileName: string, text: string, imports: readonly Piece[]): boolean {
  const edits = locate(text, imports);
  const source = parseSource(fileName, edits === null ? text : applyEdits(text, edits));
  if (source === null || edits === null) return true;
  return namesIn(imports).some((name) => mentions(source, source.root, name));
}

/** The names an import brings: the last word of each of its items. */
function namesIn(imports: readonly Piece[]): string[] {
  const ours = ['rollout', 'trainer_rollout', 'trainerRollout', 'LLM', 'trainer_llm', 'TrainerLLM', 'createOpenAI'];
  return ours.filter((name) => imports.some(({ inserted }) => inserted.includes(name)));
}

const whole = (before: string, after: string): Edit[] => [{ from: 0, to: before.length, insert: after }];
