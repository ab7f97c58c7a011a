import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import { canonicalJson, sha256 } from './canonical.ts';
import { readCsv } from './readers/csv.ts';
import { readJson, readJsonLines } from './readers/json.ts';
import { readParquet } from './readers/parquet.ts';
import { badRow, type Reader, type RowOfFile } from './readers/reader.ts';

export interface Task {
  /** Unique in its file: the row's own `id` where that is unique, else a hash of its content. */
  id: string;
  /** A JSON value, never null. */
  input: unknown;
  /** 1-based line in the file, or row in a parquet file. */
  line: number;
}

const readers: Record<string, Reader> = {
  '.jsonl': readJsonLines, '.ndjson': readJsonLines, '.json': readJson, '.csv': readCsv, '.parquet': readParquet,
};

/** Loads the tasks of a file, in its order, at most `limit`. Throws TrainerError 'bad_input' that names file and line. */
export async function loadTasks(file: string, { limit }: { limit?: number } = {}): Promise<Task[]> {
  const reader = readers[path.extname(file).toLowerCase()];
  if (!reader) throw new TrainerError('bad_input', `${file} is not a file of tasks: its name must end in ${Object.keys(readers).join(', ')}.`);
  let bytes: Uint8Array;
  try {
    bytes = await readFile(file);
  } catch (error) {
    throw new TrainerError('bad_input', `The file of tasks ${file} cannot be read: ${messageOf(error)}.`, { cause: error });
  }
  const rows = await reader(bytes, file);
  if (rows.length === 0) throw new TrainerError('bad_input', `${file} has no tasks. Write one task per row.`);
  for (const { value, line } of rows) {
    const problem = problemOf(value);
    if (problem !== null) throw badRow(file, line, problem);
  }
  // Ids are given over the whole file, so that they do not depend on `limit`.
  return withIds(rows).slice(0, limit);
}

function withIds(rows: readonly RowOfFile[]): Task[] {
  const uses = new Map<string, number>();
  for (const { value } of rows) {
    const id = ownId(value);
    if (id !== undefined) uses.set(id, (uses.get(id) ?? 0) + 1);
  }
  const taken = new Set([...uses].filter(([, count]) => count === 1).map(([id]) => id));
  const copies = new Map<string, number>();
  return rows.map(({ value, line }) => {
    const own = ownId(value);
    if (own !== undefined && uses.get(own) === 1) return { id: own, input: value, line };
    const hash = sha256(canonicalJson(value)).slice(0, 16);
    let copy = copies.get(hash) ?? 1;
    const named = () => (copy === 1 ? hash : `${hash}-${copy}`);
    while (taken.has(named())) copy += 1;
    const id = named();
    copies.set(hash, copy + 1); // many equal rows must not be counted anew for each
    taken.add(id);
    return { id, input: value, line };
  });
}

/** Beyond this the agent's language could not read the task (Python stops at 1000), nor the store write it. */
const deepest = 200;

/** Why a value of a file cannot be a task; null when it can. */
function problemOf(value: unknown, depth = 0): string | null {
  if (typeof value === 'number' && !Number.isFinite(value)) return 'a number is larger than JSON numbers can be. Write it as text.';
  if (typeof value !== 'object' || value === null) return null;
  if (depth === deepest) return `its values are nested deeper than ${deepest} levels. Flatten them.`;
  for (const inner of Object.values(value)) {
    const problem = problemOf(inner, depth + 1);
    if (problem !== null) return problem;
  }
  return null;
}

function ownId(value: unknown): string | undefined {
  const id: unknown = typeof value === 'object' && value !== null && 'id' in value ? value.id : undefined;
  if (typeof id === 'number') return String(id);
  return typeof id === 'string' && id !== '' ? id : undefined;
}
