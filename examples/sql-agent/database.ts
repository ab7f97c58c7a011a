import { readFileSync } from 'node:fs';
import initSqlJs, { type Database } from 'sql.js';

export type Cell = number | string | Uint8Array | null;
export type QueryResult = { rows: Cell[][] } | { error: string };

const MAX_ROWS = 1000;
const MAX_TABLE_LOOPS = 4;
const TIME_LIMIT_MS = 2000;

const SQL = await initSqlJs();
const opened = new Map<string, Database>();

/** Opens a database file as an in-memory copy, once per process: nothing that is run on it reaches the file. */
export function openDatabase(path: string): Database {
  let database = opened.get(path);
  if (!database) {
    database = new SQL.Database(readFileSync(path));
    database.run('PRAGMA query_only = ON');
    opened.set(path, database);
  }
  return database;
}

/** The schema in the compact form that the prompt uses: one line "table(column, column)" for each table. */
export function describeSchema(database: Database): string {
  const [columns] = database.exec(
    `SELECT t.name || '(' || group_concat(c.name, ', ') || ')' FROM sqlite_schema t, pragma_table_info(t.name) c
     WHERE t.type = 'table' GROUP BY t.rowid ORDER BY t.rowid`);
  return (columns?.values ?? []).map(([line]) => String(line)).join('\n');
}

/**
 * Runs one SELECT statement. WebAssembly cannot be interrupted in the middle of a step, so a query that could run long is refused before it starts:
 * no WITH (recursion), at most four tables scanned inside each other; after that the limits on rows and time are checked at every row.
 */
export function runQuery(database: Database, query: string): QueryResult {
  const sql = query.trim().replace(/;$/, '');
  if (!/^select\b/i.test(sql) || sql.includes(';') || /\bwith\b/i.test(sql)) return { error: 'only a single SELECT statement is allowed' };
  try {
    const plan = database.exec(`EXPLAIN QUERY PLAN ${sql}`)[0]?.values ?? [];
    if (plan.filter((step) => /^(SCAN|SEARCH)\b/.test(String(step[3]))).length > MAX_TABLE_LOOPS) return { error: 'too many tables' };
    const statement = database.prepare(sql);
    try {
      const rows: Cell[][] = [];
      const deadline = performance.now() + TIME_LIMIT_MS;
      while (statement.step()) {
        if (rows.length === MAX_ROWS) return { error: 'too many rows' };
        if (performance.now() > deadline) return { error: 'timeout' };
        rows.push(statement.get());
      }
      return { rows };
    } finally {
      statement.free();
    }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** The result as the model sees it: the number of rows and the first two of them, or the error. */
export function describeResult(result: QueryResult): string {
  if ('error' in result) return `error: ${result.error}`;
  const preview = result.rows.slice(0, 2).map((row) => row.map(formatCell).join(', ')).join('; ');
  return [...`${result.rows.length} rows${preview && `: ${preview}`}`].slice(0, 80).join('');
}

function formatCell(cell: Cell): string {
  if (cell === null) return 'NULL';
  if (typeof cell === 'number') return String(Math.floor(cell * 100 + 0.5) / 100);
  return typeof cell === 'string' ? cell : 'BLOB';
}

/** Whether two results hold the same rows: columns by position, floats to a relative 1e-6, order only where it matters. */
export function sameResult(actual: Cell[][], expected: Cell[][], ordered: boolean): boolean {
  if (actual.length !== expected.length) return false;
  if (ordered) return expected.every((row, i) => sameRow(actual[i] ?? [], row));
  const unmatched = [...actual];
  return expected.every((row) => {
    const found = unmatched.findIndex((candidate) => sameRow(candidate, row));
    if (found >= 0) unmatched.splice(found, 1);
    return found >= 0;
  });
}

function sameRow(a: Cell[], b: Cell[]): boolean {
  return a.length === b.length && a.every((cell, i) => sameCell(cell, b[i] ?? null));
}

function sameCell(a: Cell, b: Cell): boolean {
  if (typeof a === 'number' && typeof b === 'number') return Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(a), Math.abs(b));
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0;
  return a === b;
}

/** 1 if the query returns what the reference returns, else 0. A query that fails or runs too long scores 0; a reference that fails is a broken task and throws. */
export function score(database: Database, query: string, reference: string): number {
  const expected = runQuery(database, reference);
  if ('error' in expected) throw new Error(`The reference query of this task fails: ${expected.error}. Mend the task: ${reference}`);
  const actual = runQuery(database, query);
  return 'rows' in actual && sameResult(actual.rows, expected.rows, /\border\s+by\b/i.test(reference)) ? 1 : 0;
}
