import { createRequire } from 'node:module';

export type Value = string | number | null;
export type Row = Record<string, Value>;

/** The part of SQLite the store uses. Statements are prepared once per SQL text. Values are text and numbers only: blobs would need external buffers, which Electron forbids. */
export interface Database {
  readonly driver: Driver;
  exec(sql: string): void;
  all(sql: string, ...values: Value[]): Row[];
  get(sql: string, ...values: Value[]): Row | undefined;
  /** Number of rows changed. */
  run(sql: string, ...values: Value[]): number;
  close(): void;
}

export type Driver = 'node:sqlite' | 'libsql';

interface Statement {
  all(values: Value[]): Row[];
  run(values: Value[]): number;
}

interface Connection {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

interface NodeSqlite {
  DatabaseSync: new (file: string) => {
    exec(sql: string): void;
    prepare(sql: string): { all(...values: Value[]): Row[]; run(...values: Value[]): { changes: number | bigint } };
    close(): void;
  };
}

type Libsql = new (file: string) => {
  exec(sql: string): void;
  prepare(sql: string): { all(values: Value[]): Row[]; run(values: Value[]): { changes: number } };
  close(): void;
};

function nodeSqlite(): NodeSqlite | undefined {
  return process.getBuiltinModule('node:sqlite') as NodeSqlite | undefined;
}

const connect: Record<Driver, (file: string) => Connection> = {
  'node:sqlite': (file) => {
    const module = nodeSqlite();
    if (!module) throw new Error(`This Node (${process.version}) has no node:sqlite`);
    const connection = new module.DatabaseSync(file);
    return {
      exec: (sql) => connection.exec(sql),
      prepare: (sql) => {
        const statement = connection.prepare(sql);
        return { all: (values) => statement.all(...values), run: (values) => Number(statement.run(...values).changes) };
      },
      close: () => connection.close(),
    };
  },
  libsql: (file) => {
    // Loaded only when needed: it has no build for some platforms whose Node brings its own SQLite.
    const LibsqlDatabase = createRequire(import.meta.url)('libsql') as Libsql;
    const connection = new LibsqlDatabase(file);
    return {
      exec: (sql) => connection.exec(sql),
      prepare: (sql) => {
        const statement = connection.prepare(sql);
        return { all: (values) => statement.all(values), run: (values) => statement.run(values).changes };
      },
      close: () => connection.close(),
    };
  },
};

/** Opens (and creates) a database file, or ':memory:'. Without `driver`: Node's own SQLite where this Node has it, else libsql. */
export function openDatabase(file: string, driver: Driver = nodeSqlite() ? 'node:sqlite' : 'libsql'): Database {
  const connection = connect[driver](file);
  const statements = new Map<string, Statement>();
  const prepared = (sql: string): Statement => {
    let statement = statements.get(sql);
    if (!statement) statements.set(sql, statement = connection.prepare(sql));
    return statement;
  };
  const all = (sql: string, ...values: Value[]) => prepared(sql).all(values);
  return {
    driver,
    exec: (sql) => connection.exec(sql),
    all,
    get: (sql, ...values) => all(sql, ...values)[0],
    run: (sql, ...values) => prepared(sql).run(values),
    close: () => {
      statements.clear();
      connection.close();
    },
  };
}

/** SQLite's primary result code of an error thrown by either driver; undefined when it is not SQLite's. */
export function sqliteCode(error: unknown): number | undefined {
  const { errcode, rawCode } = error as { errcode?: unknown; rawCode?: unknown };
  const code = errcode ?? rawCode;
  return typeof code === 'number' ? code & 0xff : undefined;
}
