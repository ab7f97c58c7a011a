import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describeResult, describeSchema, openDatabase, runQuery, score } from '../../../examples/sql-agent/database.ts';
import { CHECK_PROMPT, REWRITE_PROMPT, SYSTEM_PROMPT } from '../../../examples/sql-agent/prompts.ts';
import type { SqlTask } from '../../../examples/sql-agent/generate.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const folder = `${root}examples/sql-agent/`;

const PYTHON_DRIVER = `
import json, sys
sys.path[:0] = ["runtime/python", "examples/sql-agent"]
import agent
def judge(case):
    database = agent.open_database(case["db"])
    return [agent.describe_schema(database), agent.describe_result(*agent.run_query(database, case["query"])), agent.score(database, case["query"], case["reference"])]
print(json.dumps({"prompts": [agent.SYSTEM_PROMPT, agent.CHECK_PROMPT, agent.REWRITE_PROMPT], "results": [judge(case) for case in json.load(sys.stdin)]}))
`;

interface Case { db: string; query: string; reference: string }

/** The reference itself, and ways to get it wrong. */
function variants({ db, query: reference }: SqlTask): Case[] {
  const queries = [
    reference, `${reference};`, reference.replace(' DESC', ''), reference.replace('DISTINCT ', ''), reference.replace(/ WHERE .*/, ''), reference.replace('>=', '>'),
    reference.replace('SELECT ', 'SELECT NULL, '), reference.replace(/SELECT .* FROM/, 'SELECT AVG(1 / 3.0), 2 / 3.0, -0.005, 1e20 FROM'), reference.replace(/FROM \w+/, 'FROM nothing'),
    `${reference} ${reference}`, `DELETE ${reference}`, '',
  ];
  return queries.map((query) => ({ db, query, reference }));
}

describe('agent.py and the TypeScript agent', () => {
  it('describe schemas and results alike and give the same rewards', async () => {
    const tasks = readFileSync(`${folder}data/heldout.jsonl`, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line) as SqlTask);
    const cases = tasks.filter((_, i) => i % 4 === 0).flatMap(variants);
    const running = promisify(execFile)('python3', ['-c', PYTHON_DRIVER], { cwd: root, maxBuffer: 2 ** 26 });
    running.child.stdin?.end(JSON.stringify(cases));
    const python = JSON.parse((await running).stdout) as { prompts: string[]; results: [string, string, number][] };

    assert.deepEqual(python.prompts, [SYSTEM_PROMPT, CHECK_PROMPT, REWRITE_PROMPT]);
    for (const [i, { db, query, reference }] of cases.entries()) {
      const database = openDatabase(`${folder}databases/${db}.sqlite`);
      assert.deepEqual(python.results[i], [describeSchema(database), describeResult(runQuery(database, query)), score(database, query, reference)], query);
    }
  });

  it('agent.py interrupts a query that runs long', async () => {
    const driver = `
import sys
sys.path[:0] = ["runtime/python", "examples/sql-agent"]
import agent
agent.TIME_LIMIT_SECONDS = 0
print(agent.run_query(agent.open_database("shop"), "SELECT COUNT(*) FROM " + ", ".join(f"orders o{i}" for i in range(4)) + " WHERE o0.price * o1.price * o2.price * o3.price = -1"))
`;
    const { stdout } = await promisify(execFile)('python3', ['-c', driver], { cwd: root });
    assert.equal(stdout.trim(), "(None, 'timeout')");
  });
});
