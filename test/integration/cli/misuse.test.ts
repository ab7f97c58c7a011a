import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { DevResult } from '../../../trainer/protocol/run.ts';
import { openStore } from '../../../trainer/store/store.ts';
import { say, startOpenAIServer } from '../../fixtures/openai-server.ts';
import { letterTasks, makeWorkspace, pythonAgent, type Workspace } from '../runs/workspace.ts';

const cli = fileURLToPath(new URL('../../../trainer/cli/main.ts', import.meta.url));
const tsx = fileURLToPath(import.meta.resolve('tsx'));

describe('the command line, used wrongly', function () {
  this.timeout(120_000); // each starts a process, on a machine that may be busy
  let workspace: Workspace;
  beforeEach(() => { workspace = makeWorkspace({ 'agent.py': pythonAgent, 'tasks.jsonl': letterTasks(2), 'broken.json': '{"agent": oops}' }); });
  afterEach(() => workspace.remove());

  const run = (command: string, args: string[]) => new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    execFile(command, args, { cwd: workspace.folder, encoding: 'utf8' }, (error, stdout, stderr) => resolve({ code: error ? Number(error.code) : 0, stdout, stderr }));
  });
  const agentTrainer = (...args: string[]) => run(process.execPath, ['--import', tsx, cli, ...args]);

  const mistakes: [string, string[], RegExp][] = [
    ['a broken configuration', ['train', 'broken.json', '--json'], /broken\.json is not valid JSON \(line 1, column 11\)/],
    ['no model folder, before anything runs', ['eval', 'agent.py', '--data', 'tasks.jsonl', '--policy', 'http://127.0.0.1:9/v1', '--against', 'nothing', '--json'], /^agent-trainer: There is no model in .*nothing: it has no config\.json/],
    ['not a URL', ['dev', 'agent.py', '--data', 'tasks.jsonl', '--policy', 'http://', '--json'], /"http:\/\/" is not a URL/],
    ['a server without http://', ['dev', 'agent.py', '--data', 'tasks.jsonl', '--policy', '127.0.0.1:9/v1'], /the URL of a server begins with http:\/\//],
    ['half a name of the hub', ['eval', 'agent.py', '--data', 'tasks.jsonl', '--policy', 'http://127.0.0.1:9/v1', '--against', 'hf:owner'], /"hf:owner" names no model of the Hugging Face hub/],
    ['half a name of the hub, to run', ['dev', 'agent.py', '--data', 'tasks.jsonl', '--policy', 'hf:owner'], /"hf:owner" names no model of the Hugging Face hub/],
    ['half a name of the hub, to measure for', ['hardware', 'hf:owner'], /"hf:owner" names no model of the Hugging Face hub/],
    ['no model to measure for', ['hardware', 'nothing'], /There is no model in .*nothing: .* or hf:owner\/name of the Hugging Face hub/],
    ['no tasks to evaluate on', ['eval', 'agent.py'], /--data FILE/],
    ['no tasks to run on', ['dev', 'agent.py'], /--data FILE/],
    ['no model to evaluate', ['eval', 'agent.py', '--data', 'tasks.jsonl'], /--policy P.*hf:owner\/name/],
    ['no such port', ['serve', '--port', '70000'], /--port must be a whole number of at least 1 and at most 65535/],
    ['a search without its tasks, of which nothing is kept', ['optimize', 'agent.py', '--data', 'none.jsonl', '--algorithm', 'baseline', '--policy', 'http://127.0.0.1:9/v1'], /none\.jsonl cannot be read: it does not exist\.$/],
    ['another budget for a search that goes on', ['optimize', '--resume', 'ru-1', '--budget-tokens', '5'], /--resume does not take --budget-tokens\. Start a new search/],
    ['a budget in money without prices', ['optimize', 'agent.py', '--data', 'tasks.jsonl', '--budget-usd', '1'], /--budget-usd needs the prices.*--price-input/],
    ['a question that nobody can answer, before anything runs', ['optimize', 'agent.py', '--data', 'tasks.jsonl', '--apply'], /^agent-trainer: There is nobody to ask .* --yes/],
    ['no such file of tasks', ['dev', 'agent.py', '--data', 'none.jsonl', '--policy', 'http://127.0.0.1:9/v1', '--json'], /none\.jsonl cannot be read: it does not exist\.$/],
  ];
  for (const [what, args, message] of mistakes) {
    it(`${what}: one sentence on stderr, nothing on stdout, no stack trace`, async () => {
      const { code, stdout, stderr } = await agentTrainer(...args);
      assert.notEqual(code, 0);
      assert.equal(stdout, '');
      const lines = stderr.trimEnd().split('\n').filter((line) => !line.startsWith('Starting run '));
      assert.equal(lines.length, 1, stderr);
      assert.match(lines[0]!, message);
    });
  }

  it('--json of a list is one object; a run whose trainer was killed is not shown as going', async () => {
    mkdirSync(path.join(workspace.folder, '.agent-trainer'));
    const store = openStore(path.join(workspace.folder, '.agent-trainer', 'trainer.db'));
    store.createRun({ run_id: 'ru-1', kind: 'train', status: 'running', phase: 'training', agent: 'agent.py', config: {}, create_time: 1, end_time: null, error: null, result: null });
    store.close();
    const { code, stdout } = await agentTrainer('runs', '--json');
    assert.equal(code, 0);
    assert.deepEqual((JSON.parse(stdout) as { runs: { run_id: string; status: string }[] }).runs.map(({ run_id, status }) => [run_id, status]), [['ru-1', 'interrupted']]);
    assert.deepEqual(JSON.parse((await agentTrainer('trace', 'ru-1', '--json')).stdout), { run_id: 'ru-1', rollouts: [] });
    assert.match((await agentTrainer('trace', 'ru-1')).stdout, /^Run ru-1 \(interrupted\) has no rollouts\./);
  });

  it('a dry run in which nothing came back prints its result and fails', async () => {
    const server = await startOpenAIServer(say('a'));
    try {
      workspace.write('failing.py', 'def fails(task, llm):\n    raise ValueError("no")\n');
      const dev = (agent: string) => agentTrainer('dev', agent, '--data', 'tasks.jsonl', '--policy', server.url, '--json');
      const failed = await dev('failing.py:fails');
      assert.equal(failed.code, 1);
      assert.deepEqual(DevResult.parse(JSON.parse(failed.stdout)).rollouts.map(({ status }) => status), ['agent_error', 'agent_error']);
      assert.equal((await dev('agent.py')).code, 0);
    } finally {
      await server.close();
    }
  });

  it('a full disk behind stdout, and a reader that leaves, are no crash', async function () {
    if (process.platform !== 'linux') this.skip(); // has /dev/full
    const shell = (redirect: string) => run('/bin/sh', ['-c', `"$0" --import "$1" "$2" --help ${redirect}`, process.execPath, tsx, cli]);
    const full = await shell('> /dev/full');
    assert.equal(full.code, 1);
    assert.match(full.stderr, /^agent-trainer: .*ENOSPC[^\n]*\n$/);
    assert.equal((await shell('| true')).stderr, '');
  });
});
