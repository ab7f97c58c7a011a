import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { detectAgents } from '../../../src/agents/detect.ts';

const names = (file: string, text: string): string[] => detectAgents(file, text).map((agent) => agent.name);
const examples = join(import.meta.dirname, '..', '..', '..', 'examples', 'sql-agent');

describe('detecting agents', () => {
  it('finds both sample agents and where their names stand', () => {
    for (const [file, name] of [['agent.ts', 'sqlAgent'], ['agent.py', 'sql_agent']] as const) {
      const text = readFileSync(join(examples, file), 'utf8');
      const agents = detectAgents(file, text);
      assert.deepEqual(agents.map((agent) => agent.name), [name]);
      assert.equal(text.slice(agents[0]?.from, agents[0]?.to), name);
    }
  });

  describe('Python', () => {
    const cases: [string, string, string[]][] = [
      ['a plain decorator', 'from agent_trainer import rollout\n@rollout\ndef solve(task): ...', ['solve']],
      ['with arguments, asynchronous', 'from agent_trainer import rollout\n@rollout(retries=2)\nasync def solve(task): ...', ['solve']],
      ['an alias', 'from agent_trainer import (\n  operation,\n  rollout as agent,\n)\n@agent\ndef solve(task): ...', ['solve']],
      ['a module', 'import agent_trainer\n@agent_trainer.rollout\ndef solve(task): ...', ['solve']],
      ['a module with an alias', 'import os, agent_trainer as at\n@at.rollout\ndef solve(task): ...', ['solve']],
      ['Agent Lightning', 'import agentlightning as agl\n@agl.rollout\ndef solve(task): ...', ['solve']],
      ['several decorators', 'from agent_trainer import rollout\n@cached\n@rollout\n@traced(1)\ndef solve(task): ...', ['solve']],
      ['a guarded definition', 'try:\n  from agent_trainer import rollout\nexcept ImportError:\n  raise\nif True:\n  @rollout\n  def solve(task): ...', ['solve']],
      ['two agents', 'from agent_trainer import *\n@rollout\ndef a(task): ...\n@rollout\ndef b(task): ...', ['a', 'b']],
      ['code around it that does not parse', 'from agent_trainer import rollout\ndef broken(:\n@rollout\ndef solve(task):\n  x = (', ['solve']],
      ["somebody else's rollout", 'from game import rollout\n@rollout\ndef solve(task): ...', []],
      ['a rollout of its own', 'def rollout(f): return f\n@rollout\ndef solve(task): ...', []],
      ['text in a string', 's = """\nfrom agent_trainer import rollout\n@rollout\ndef solve(task): ...\n"""', []],
      ['a function inside a function', 'from agent_trainer import rollout\ndef make():\n  @rollout\n  def solve(task): ...', []],
    ];
    for (const [what, text, expected] of cases) it(what, () => { assert.deepEqual(names('a.py', text), expected); });
  });

  describe('TypeScript and JavaScript', () => {
    const imported = "import { rollout } from 'agent-trainer/runtime';\n";
    const cases: [string, string, string, string[]][] = [
      ['an exported constant', 'a.ts', `${imported}export const solve = rollout(async (task: Task, { llm }: Context) => 1);`, ['solve']],
      ['an alias', 'a.ts', "import { operation, rollout as agent, type LLM } from 'agent-trainer/runtime';\nexport const solve = agent(f);", ['solve']],
      ['a namespace', 'a.mts', "import * as at from 'agent-trainer/runtime';\nexport const solve = at.rollout<Task>(f);", ['solve']],
      ['exported below', 'a.js', `${imported}const a = rollout(f), b = 1, c = rollout(g);\nexport { a, c as solve };`, ['a', 'solve']],
      ['not exported', 'a.ts', `${imported}const hidden = rollout(f);`, []],
      ['a default export', 'a.ts', `${imported}export default rollout(f);`, ['default']],
      ['CommonJS', 'a.cjs', "const { rollout } = require('agent-trainer/runtime');\nexports.solve = rollout(f);\nmodule.exports.other = rollout(g);", ['solve', 'other']],
      ['decorated methods', 'a.ts', `${imported}export class Solver { @rollout async run(task) {} other() {} @rollout static no() {} }`, ['Solver.run']],
      ['JSX around it', 'a.tsx', `${imported}const view = <div>{1}</div>;\nexport const solve = rollout(f);`, ['solve']],
      ['a missing value above', 'a.ts', `${imported}const a = ;\nexport const solve = rollout(async (t => {`, ['solve']],
      ['a missing brace above', 'a.ts', `${imported}function broken() { if (x {\nexport const solve = rollout(async (t) => 1);`, ['solve']],
      ["somebody else's rollout", 'a.ts', "import { rollout } from './game.ts';\nexport const solve = rollout(f);", []],
      ['text in a template', 'a.ts', `${imported}const s = \`export const solve = rollout(f);\`;`, []],
      ['a declaration file', 'a.d.ts', `${imported}export const solve = rollout(f);`, []],
    ];
    for (const [what, file, text, expected] of cases) it(what, () => { assert.deepEqual(names(file, text), expected); });
  });

  it('reads a large file without an agent without parsing it', () => {
    assert.deepEqual(names('a.ts', 'const x = 1;\n'.repeat(200_000)), []);
  });
});
