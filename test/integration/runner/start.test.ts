import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { TrainerError, type ErrorCode } from '../../../trainer/protocol/errors.ts';
import { RunnerConfig } from '../../../trainer/protocol/config.ts';
import { Runner, resolveAgent } from '../../../trainer/runner/runner.ts';
import { bench, fixtures, run_id, until, workspace, type Bench } from './harness.ts';

describe('starting a runner fails once, with what to do', function () {
  this.timeout(60_000);
  let desk: Bench;
  beforeEach(async () => { desk = await bench(); });
  afterEach(() => desk.close());

  async function refuses(agent: string, files: Record<string, string>, code: ErrorCode, message: RegExp, config = {}): Promise<void> {
    const folder = workspace(files);
    await assert.rejects(desk.runner(agent, config, { workspace: folder }), (error) => {
      assert.ok(error instanceof TrainerError);
      assert.equal(error.code, code, error.message);
      assert.match(error.message, message);
      return true;
    });
    assert.equal(desk.store.listWorkers().length, 0);
  }

  const agents: [string, string, Record<string, string>, RegExp][] = [
    ['Python: a syntax error', 'a.py', { 'a.py': 'def broken(:\n' }, /a\.py cannot be imported: SyntaxError: .*a\.py:1\)/],
    ['Python: a missing module', 'a.py', { 'a.py': '\nimport no_such_module\n' }, /cannot be imported: ModuleNotFoundError: No module named 'no_such_module' \(.*a\.py:2\)\. This was \S*python\S*; a \.venv in the workspace or runner\.python names another\./],
    ['Python: an error while importing', 'a.py', { 'a.py': 'print("x")\nraise ValueError("boom")\n' }, /ValueError: boom \(.*a\.py:2\)/],
    ['Python: exit while importing', 'a.py', { 'a.py': 'import os, sys\nprint("last words", file=sys.stderr)\nos._exit(7)\n' }, /the worker died, exit code 7\. It wrote: last words/],
    ['Python: no agent', 'a.py', { 'a.py': 'def f(task): return 1\n' }, /a\.py has no agent: decorate the function with @rollout, or name it as a\.py:function/],
    ['Python: no such agent', 'a.py:g', { 'a.py': 'from agent_trainer import rollout\n@rollout\ndef f(task): return 1\n' }, /no function named 'g' \(agents in it: f\)/],
    ['Python: a parameter that nothing fills', 'a.py:f', { 'a.py': 'def f(task, llm, database): return 1\n' }, /a\.py: the agent asks for 'database', which this run does not provide \(it provides llm, rollout, resources; the task is the first parameter\): give it a default value\.$/],
    ['Python: a prompt template of nobody', 'a.py:f', { 'a.py': 'def f(task, prompt_template): return 1\n' }, /asks for 'prompt_template', which .*: give it a default value, such as PromptTemplate\("…"\)\.$/],
    ['Python: no parameter for the task', 'a.py:f', { 'a.py': 'def f(): return 1\n' }, /a\.py: agent f takes no parameter, but its first parameter is the task/],
    ['TypeScript: a syntax error', 'a.ts', { 'a.ts': 'const x: number = ;\n' }, /a\.ts cannot be imported: SyntaxError: Unexpected ";" \(.*a\.ts:1:19\)$/],
    ['TypeScript: a missing module', 'a.ts', { 'a.ts': `import 'no-such-package';\n` }, /cannot be imported: .*Cannot find package 'no-such-package'/],
    ['TypeScript: an error while importing', 'a.ts', { 'a.ts': 'type A = 1;\nthrow new RangeError("boom");\n' }, /RangeError: boom \(.*a\.ts:2\)/],
    ['TypeScript: exit while importing', 'a.ts', { 'a.ts': 'console.error("last words");\nprocess.exit(7);\n' }, /the worker died, exit code 7\. It wrote: last words/],
    ['TypeScript: no agent', 'a.ts', { 'a.ts': 'export function f() { return 1; }\n' }, /exports no agent: wrap it as "export const name = rollout/],
    ['TypeScript: no such agent', 'a.ts:g', { 'a.ts': `import { rollout } from 'agent-trainer/runtime';\nexport const f = rollout(() => 1);\n` }, /exports no function named "g" \(agents in it: f\)/],
  ];
  for (const [name, agent, files, message] of agents) it(name, () => refuses(agent, files, 'agent', message));

  const fine = { 'a.py': 'from agent_trainer import rollout\n@rollout\ndef f(task): return 1\n', 'a.ts': 'export const f = 1;\n' };

  it('an interpreter that does not exist', async () => {
    await refuses('a.py', fine, 'environment', /no-such-python does not run as Python\. Agents need Python 3\.9 or later: install it, or name one in "runner\.python"/, { python: 'no-such-python' });
    await refuses('a.ts', fine, 'environment', /no-such-node does not run as Node\. Agents need Node 20\.19/, { node: 'no-such-node' });
  });

  it('an interpreter that is too old', async () => {
    const folder = workspace({ old: '#!/bin/sh\necho \'{"executable": "/usr/bin/old", "version": [3, 6], "electron": false}\'\n' });
    chmodSync(join(folder, 'old'), 0o755);
    await refuses('a.py', fine, 'environment', /old is Python 3\.6\. Agents need Python 3\.9/, { python: join(folder, 'old') });
  });

  it('the error reaches a program that has nothing else to do', async () => {
    const folder = workspace({ 'a.py': 'raise ValueError("boom")\n' });
    const script = fileURLToPath(new URL('trainer-process.ts', import.meta.url));
    const ended = promisify(execFile)(process.execPath, ['--import', 'tsx', script, 'a.py', folder, 'none']);
    await assert.rejects(ended, { code: 1, stderr: /a\.py cannot be imported: ValueError: boom/ });
  });

  it('being stopped meanwhile', async () => {
    const folder = workspace({ 'a.py': 'import os, time\nopen("loading", "w").close()\ntime.sleep(600)\n' });
    const options = { store: desk.store, run_id, agent: resolveAgent('a.py', folder), gateway: { url: desk.url, key: 'k' }, config: RunnerConfig.parse({}), workspace: folder, modelName: () => 'tiny' };
    const early = new Runner(options);
    const started = assert.rejects(early.start(), { code: 'cancelled' });
    await Promise.all([early.stop(), started]);
    const loading = new Runner(options);
    const failed = assert.rejects(loading.start(), { code: 'cancelled' });
    await until(() => existsSync(join(folder, 'loading')));
    await Promise.all([loading.stop(), failed]);
  });

  it('several agents and none chosen', async () => {
    await assert.rejects(desk.runner(`${fixtures}behaviours.py`), { code: 'bad_input', message: /has several agents \(agent, asynchronous, with_template\)\. Choose one, for example behaviours\.py:agent/ });
  });
});
