import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import initSqlJs from 'sql.js';
import { openDatabase, runQuery } from '../../../examples/sql-agent/database.ts';
import { generateFiles, type SqlTask } from '../../../examples/sql-agent/generate.ts';
import { heldOutSchemas } from '../../../examples/sql-agent/generator/schemas.ts';

const folder = fileURLToPath(new URL('../../../examples/sql-agent/', import.meta.url));
const readTasks = (name: string): SqlTask[] => readFileSync(`${folder}data/${name}.jsonl`, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line) as SqlTask);

describe('data of the SQL agent', () => {
  const train = readTasks('train');
  const heldOut = readTasks('heldout');

  it('is what generate.ts writes, byte for byte', async () => {
    const files = generateFiles(await initSqlJs());
    for (const [path, content] of files) assert.ok(readFileSync(folder + path).equals(Buffer.from(content)), `${path} differs; run npx tsx examples/sql-agent/generate.ts`);
    const databases = readdirSync(`${folder}databases`).map((name) => `databases/${name}`);
    assert.deepEqual(databases.sort(), [...files.keys()].filter((path) => path.startsWith('databases/')).sort());
  });

  it('has enough tasks, none of them on both sides', () => {
    assert.ok(train.length >= 300 && heldOut.length >= 200);
    const key = ({ db, question }: SqlTask): string => `${db}: ${question}`;
    assert.equal(new Set([...train, ...heldOut].map(key)).size, train.length + heldOut.length);
    assert.equal(new Set([...train, ...heldOut].map(({ id }) => id)).size, train.length + heldOut.length);
    const trainQueries = new Set(train.map(({ db, query }) => `${db}: ${query}`));
    assert.deepEqual(heldOut.filter(({ db, query }) => trainQueries.has(`${db}: ${query}`)), []);
  });

  it('keeps half of the held-out tasks on databases without training tasks', () => {
    const unseen = new Set(heldOutSchemas.map(({ name }) => name));
    assert.deepEqual(train.filter(({ db }) => unseen.has(db)), []);
    assert.equal(heldOut.filter(({ db }) => unseen.has(db)).length, heldOut.length / 2);
  });

  it('has references that run and return rows', () => {
    for (const { id, db, query } of [...train, ...heldOut]) {
      const result = runQuery(openDatabase(`${folder}databases/${db}.sqlite`), query);
      assert.ok('rows' in result && result.rows.length > 0, `${id}: ${query}`);
    }
  });
});
