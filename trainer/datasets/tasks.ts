import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import { canonicalJson, sha256 } from './canonical.ts';
import { readCsv } from './readers/csv.ts';
import { readJson, readJsonLines } from './readers/json.ts';
import { readParquet } from './readers/parquet.ts';
import type { Reader, RowOfFile } from './readers/reader.ts';

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
  return rows.map(({ value, line }) => {
    const own = ownId(value);
    if (own !== undefined && uses.get(own) === 1) return { id: own, input: value, line };
    const hash = sha256(canonicalJson(value)).slice(0, 16);
    let id = hash;
    for (let copy = 2; taken.has(id); copy++) id = `${hash}-${copy}`;
    taken.add(id);
    return { id, input: value, line };
  });
}

function ownId(value: unknown): string | undefined {
  const id: unknown = typeof value === 'object' && value !== null && 'id' in value ? value.id : undefined;
  if (typeof id === 'number') return String(id);
  return typeof id === 'string' && id !== '' ? id : undefined;
}
