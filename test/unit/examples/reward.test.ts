import assert from 'node:assert/strict';
import initSqlJs, { type Database } from 'sql.js';
import { describeResult, describeSchema, runQuery, sameResult, score } from '../../../examples/sql-agent/database.ts';
import { extractSql } from '../../../examples/sql-agent/prompts.ts';

describe('reward of the SQL agent', () => {
  let database: Database;
  before(async () => {
    database = new (await initSqlJs()).Database();
    database.run("CREATE TABLE items (name TEXT, price REAL, kind TEXT); INSERT INTO items VALUES ('a', 1.5, 'x'), ('b', 2.5, 'x'), ('c', NULL, 'y')");
  });
  after(() => { database.close(); });

  it('ignores the order of rows unless the reference asks for one', () => {
    assert.equal(score(database, 'SELECT name FROM items ORDER BY name DESC', 'SELECT name FROM items'), 1);
    assert.equal(score(database, 'SELECT name FROM items ORDER BY name DESC', 'SELECT name FROM items ORDER BY name'), 0);
    assert.equal(score(database, 'SELECT name FROM items', 'SELECT name FROM items ORDER BY name'), 1);
  });

  it('counts duplicates', () => {
    assert.equal(score(database, 'SELECT DISTINCT kind FROM items', 'SELECT kind FROM items'), 0);
    assert.equal(sameResult([['x'], ['y'], ['y']], [['x'], ['x'], ['y']], false), false);
    assert.equal(sameResult([['y'], ['x'], ['x']], [['x'], ['x'], ['y']], false), true);
  });

  it('compares columns by position', () => {
    assert.equal(score(database, 'SELECT kind, name FROM items', 'SELECT name, kind FROM items'), 0);
    assert.equal(score(database, 'SELECT name AS other FROM items', 'SELECT name FROM items'), 1);
    assert.equal(score(database, 'SELECT name, kind FROM items', 'SELECT name FROM items'), 0);
  });

  it('tells NULL, text and numbers apart', () => {
    assert.equal(sameResult([[null]], [[null]], true), true);
    assert.equal(sameResult([[null]], [[0]], true), false);
    assert.equal(sameResult([['1']], [[1]], true), false);
  });

  it('allows rounding in floats and nothing more', () => {
    assert.equal(score(database, 'SELECT SUM(price) / COUNT(price) FROM items', 'SELECT AVG(price) FROM items'), 1);
    assert.equal(sameResult([[0.1 + 0.2]], [[0.3]], true), true);
    assert.equal(sameResult([[1000]], [[1000.1]], true), false);
  });

  it('scores a failing query 0 and refuses a failing reference', () => {
    assert.equal(score(database, 'SELECT nothing FROM items', 'SELECT name FROM items'), 0);
    assert.equal(score(database, '', 'SELECT name FROM items'), 0);
    assert.throws(() => score(database, 'SELECT name FROM items', 'SELECT nothing FROM items'), /reference query of this task fails/);
  });

  it('runs single, bounded SELECT statements only', () => {
    for (const query of ['DELETE FROM items', 'SELECT 1; DELETE FROM items', 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c',
      'SELECT (WITH c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c)', 'SELECT 1 FROM items a, items b, items c, items d, items e']) {
      assert.ok('error' in runQuery(database, query), query);
    }
    assert.deepEqual(runQuery(database, ' select COUNT(*) from items; '), { rows: [[3]] });
  });

  it('describes schema and results briefly', () => {
    assert.equal(describeSchema(database), 'items(name, price, kind)');
    assert.equal(describeResult(runQuery(database, 'SELECT name, price FROM items ORDER BY name DESC')), '3 rows: c, NULL; b, 2.5');
    assert.equal(describeResult(runQuery(database, 'SELECT name FROM items WHERE price > 9')), '0 rows');
    assert.equal(describeResult(runQuery(database, 'SELECT x FROM items')), 'error: no such column: x');
  });

  it('finds the query in a Markdown answer', () => {
    assert.equal(extractSql('Here:\n```sql\nSELECT 1\n```\nDone.'), 'SELECT 1');
    assert.equal(extractSql(' SELECT 1 '), 'SELECT 1');
  });
});
