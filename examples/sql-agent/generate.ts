/**
 * Writes databases/*.sqlite, data/train.jsonl and data/heldout.jsonl. Seeded: the files are the same, byte for byte, on every machine.
 * Run: npx tsx examples/sql-agent/generate.ts [folder]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import initSqlJs, { type Database, type SqlJsStatic } from 'sql.js';
import { runQuery, score } from './database.ts';
import { printQuery, type Query } from './generator/query.ts';
import { askQuestion, questionKinds, type FrameChoice } from './generator/questions.ts';
import { Random } from './generator/random.ts';
import { buildDatabase, randomRows, type Rows, type Schema } from './generator/schema.ts';
import { heldOutSchemas, sharedSchemas } from './generator/schemas.ts';

export interface SqlTask { id: string; db: string; question: string; query: string }
interface Source { schema: Schema; rows: Rows; database: Database }

const SEED = 20;
const TRAIN_TASKS = 400;
const HELD_OUT_TASKS = 240;

/** Everything the script writes, by path relative to the folder. */
export function generateFiles(SQL: SqlJsStatic): Map<string, string | Uint8Array> {
  const random = new Random(SEED);
  const open = (schema: Schema): Source => {
    const rows = randomRows(random, schema, { parent: [8, 12], child: [24, 32] });
    return { schema, rows, database: buildDatabase(SQL, schema, rows) };
  };
  const shared = sharedSchemas.map(open);
  const unseen = heldOutSchemas.map(open);
  const taken = new Set<string>(); // questions and queries, so that no task is another one in other words
  const train = makeTasks(random, 'train', TRAIN_TASKS, () => shared, () => 'shared', taken);
  // Half of the held-out tasks are about databases never trained on, and half of each half use sentence frames never trained on.
  const heldOut = makeTasks(random, 'heldout', HELD_OUT_TASKS, (i) => (i % 2 === 0 ? unseen : shared), (i) => (i % 4 < 2 ? 'heldOut' : 'shared'), taken);

  const files = new Map<string, string | Uint8Array>([['data/train.jsonl', toJsonLines(train)], ['data/heldout.jsonl', toJsonLines(heldOut)]]);
  for (const { schema, database } of [...shared, ...unseen]) {
    files.set(`databases/${schema.name}.sqlite`, database.export());
    database.close();
  }
  return files;
}

function makeTasks(random: Random, prefix: string, count: number, sources: (i: number) => Source[], frames: (i: number) => FrameChoice, taken: Set<string>): SqlTask[] {
  const tasks: SqlTask[] = [];
  while (tasks.length < count) {
    const i = tasks.length;
    const { schema, rows, database } = random.pick(sources(i));
    const question = askQuestion(random, schema, rows, questionKinds[Math.floor(i / 4) % questionKinds.length] ?? 'list', frames(i));
    const query = printQuery(question.query);
    const keys = [question.text, query].map((text) => `${schema.name}: ${text}`);
    if (keys.some((key) => taken.has(key)) || !isTelling(database, question.query, query)) continue;
    for (const key of keys) taken.add(key);
    tasks.push({ id: `${prefix}-${String(i + 1).padStart(3, '0')}`, db: schema.name, question: question.text, query });
  }
  return tasks;
}

/** Whether the result gives mistakes away: it has rows, no NULL, and every part of the query changes it. */
function isTelling(database: Database, query: Query, sql: string): boolean {
  const result = runQuery(database, sql);
  if ('error' in result || result.rows.length === 0 || result.rows.flat().includes(null)) return false;
  return simplifications(query).every((simpler) => score(database, printQuery(simpler), sql) === 0);
}

function simplifications(query: Query): Query[] {
  const stricter = { '>=': '>', '<=': '<', '!=': '=', '>': '>=', '<': '<=', '=': '!=' } as const;
  const boundary = query.where.flatMap((condition, i): Query[] => (condition.operator === '>=' || condition.operator === '<=' || condition.operator === '!='
    ? [{ ...query, where: query.where.with(i, { ...condition, operator: stricter[condition.operator] }) }] : []));
  return [
    ...boundary,
    ...query.where.map((_, i) => ({ ...query, where: query.where.toSpliced(i, 1) })),
    ...(query.distinct ? [{ ...query, distinct: false }] : []),
    ...(query.items.some((item) => item.type === 'aggregate' && item.distinct)
      ? [{ ...query, items: query.items.map((item) => (item.type === 'aggregate' ? { ...item, distinct: false } : item)) }] : []),
    ...(query.orderBy ? [{ ...query, orderBy: null }, { ...query, orderBy: { ...query.orderBy, descending: !query.orderBy.descending } }] : []),
    ...(query.limit === null ? [] : [{ ...query, limit: null }]),
    ...(query.having ? [{ ...query, having: null }, { ...query, having: { ...query.having, operator: stricter[query.having.operator] } }] : []),
  ];
}

function toJsonLines(rows: object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.argv[2] ?? fileURLToPath(new URL('.', import.meta.url));
  for (const [path, content] of generateFiles(await initSqlJs())) {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}
