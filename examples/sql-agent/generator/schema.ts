import type { Database as SqlJsDatabase, SqlJsStatic } from 'sql.js';
import type { Random } from './random.ts';
import { categoryColumns, labelColumns, names, numberColumns, tableNames } from './words.ts';

export type Cell = string | number;
export type ColumnKind = 'key' | 'label' | 'category' | 'number';
export interface Column { name: string; kind: ColumnKind }
/** `parent`: the table whose key this table's rows point to. */
export interface Table { name: string; singular: string; columns: Column[]; parent: string | null }
export interface Schema { name: string; tables: Table[] }

function kindOf(column: string): ColumnKind {
  if (column.endsWith('_id')) return 'key';
  if (column in categoryColumns) return 'category';
  if (column in numberColumns) return 'number';
  if ((labelColumns as readonly string[]).includes(column)) return 'label';
  throw new RangeError(`"${column}" is in no word list; add it to words.ts.`);
}

/** A parent table and its children, written as "author: name country age" with the parent first. Column names are unique in a schema, keys excepted. */
export function schemaOf(name: string, ...definitions: string[]): Schema {
  const parts = definitions.map((definition) => {
    const [singular = '', columns = ''] = definition.split(': ');
    return { singular, columns: columns.split(' ') };
  });
  const parent = parts[0]?.singular ?? '';
  return {
    name,
    tables: parts.map(({ singular, columns }, index) => ({
      name: `${singular}s`,
      singular,
      columns: (index === 0 ? [`${parent}_id`, ...columns] : [...columns, `${parent}_id`]).map((column) => ({ name: column, kind: kindOf(column) })),
      parent: index === 0 ? null : `${parent}s`,
    })),
  };
}

/** A schema of random words: a parent with one or two children, each with a label, one or two categories and one to three numbers. */
export function randomSchema(random: Random, name: string): Schema {
  const tables = random.sample(tableNames, random.chance(0.3) ? 3 : 2);
  const labels = random.shuffle(labelColumns);
  const categories = random.shuffle(Object.keys(categoryColumns));
  const numbers = random.shuffle(Object.keys(numberColumns));
  const definitions = tables.map((table) => {
    const columns = [...labels.splice(0, 1), ...categories.splice(0, random.int(1, 2)), ...numbers.splice(0, random.int(1, 3))];
    return `${table}: ${(random.chance(0.6) ? columns : random.shuffle(columns)).join(' ')}`;
  });
  return schemaOf(name, ...definitions);
}

/** Rows of every table, by table name. Labels and numbers do not repeat inside a table; categories do. */
export type Rows = Map<string, Cell[][]>;

export function randomRows(random: Random, schema: Schema, sizes: { parent: [number, number]; child: [number, number] }): Rows {
  const rows: Rows = new Map();
  const parentCount = random.int(...sizes.parent);
  for (const table of schema.tables) {
    const count = table.parent === null ? parentCount : random.int(...sizes.child);
    const columns = table.columns.map((column) => randomColumn(random, column, count, table.parent === null ? null : parentCount));
    rows.set(table.name, Array.from({ length: count }, (_, row) => columns.map((column) => column[row] as Cell)));
  }
  return rows;
}

function randomColumn(random: Random, column: Column, count: number, parentCount: number | null): Cell[] {
  switch (column.kind) {
    case 'key': return Array.from({ length: count }, (_, i) => (parentCount === null ? i + 1 : random.int(1, parentCount)));
    case 'label': return random.sample(names, count);
    case 'category': {
      const values = random.sample(categoryColumns[column.name] ?? [], 4);
      return Array.from({ length: count }, () => random.pick(values));
    }
    case 'number': {
      const { low, high, step } = numberColumns[column.name] ?? { low: 0, high: 0, step: 1 };
      const values = Array.from({ length: (high - low) / step + 1 }, (_, i) => low + i * step);
      return random.sample(values, count);
    }
  }
}

/** Builds the SQLite database in memory. The caller closes it. */
export function buildDatabase(SQL: SqlJsStatic, schema: Schema, rows: Rows): SqlJsDatabase {
  const database = new SQL.Database();
  database.run('PRAGMA page_size = 1024');
  database.run('BEGIN');
  for (const table of schema.tables) {
    const columns = table.columns.map((column) => {
      if (column.kind === 'key') return table.parent === null ? `${column.name} INTEGER PRIMARY KEY` : `${column.name} INTEGER NOT NULL REFERENCES ${table.parent}`;
      return `${column.name} ${column.kind === 'number' ? 'INTEGER' : 'TEXT'} NOT NULL`;
    });
    database.run(`CREATE TABLE ${table.name} (${columns.join(', ')})`);
    const insert = database.prepare(`INSERT INTO ${table.name} VALUES (${table.columns.map(() => '?').join(', ')})`);
    for (const row of rows.get(table.name) ?? []) insert.run(row);
    insert.free();
  }
  database.run('COMMIT');
  return database;
}
