import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { commands, tools } from '../../../src/ids.ts';
import { startOpenAIServer } from '../../fixtures/openai-server.ts';
import type { OpenAIServer } from '../../fixtures/openai-server.ts';
import { until } from '../poll.ts';
import './configuration.ts';

const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
const state = join(folder, '.agent-trainer');
const agent = join(folder, 'greeter.py');

interface Remembered { agents: string[]; runs: { kind: string; status: string }[] }
const remembered = (): Remembered => (existsSync(join(state, 'workspace.json')) ? JSON.parse(readFileSync(join(state, 'workspace.json'), 'utf8')) as Remembered : { agents: [], runs: [] });
const server = (): { pid: number } | null => (existsSync(join(state, 'server.json')) ? JSON.parse(readFileSync(join(state, 'server.json'), 'utf8')) as { pid: number } : null);

/** The lenses that run and train; others stand beside them. */
async function lensesOf(file: string): Promise<vscode.CodeLens[]> {
  await vscode.window.showTextDocument(vscode.Uri.file(file));
  let lenses: vscode.CodeLens[] = [];
  await until(async () => {
    const all = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', vscode.Uri.file(file), 10);
    lenses = all.filter(({ command }) => command?.command === commands.dryRun || command?.command === commands.train);
    return lenses.length > 0;
  });
  return lenses;
}

describe('the extension in its host', () => {
  let model: OpenAIServer;
  before(async () => { model = await startOpenAIServer(); });
  after(() => model.close());

  it('wakes up with a folder that holds a configuration and has every command from then on', async () => {
    await until(() => vscode.extensions.getExtension('agent-trainer.agent-trainer')?.isActive === true);
    const all = await vscode.commands.getCommands(true);
    for (const command of Object.values(commands)) assert.ok(all.includes(command), command);
  });

  it('notes the agents of the folder', async () => {
    await until(() => remembered().agents.length === 2);
    assert.deepEqual(remembered().agents, ['greeter.py:greet', 'greeter.ts:greet']);
  });

  for (const name of ['greeter.py', 'greeter.ts']) {
    it(`offers a dry run and training over the agent of ${name}`, async () => {
      const lenses = await lensesOf(join(folder, name));
      assert.deepEqual(lenses.map((lens) => lens.command?.command), [commands.dryRun, commands.train]);
      assert.deepEqual(lenses[0]?.command?.arguments, [{ file: join(folder, name), name: 'greet' }]);
    });
  }

  it('follows an edit', async () => {
    const draft = await vscode.workspace.openTextDocument(vscode.Uri.file(join(folder, 'draft.py')));
    const edit = new vscode.WorkspaceEdit();
    edit.insert(draft.uri, new vscode.Position(0, 0), 'from agent_trainer import rollout\n\n@rollout\ndef second(task):\n    return (');
    await vscode.workspace.applyEdit(edit);
    assert.equal((await lensesOf(draft.fileName)).length, 2);
  });

  it('runs an agent with the real trainer: started, used, noted', async () => {
    writeFileSync(join(folder, 'agent-trainer.json'), JSON.stringify({ agent: 'greeter.py:greet', data: { train: 'tasks.jsonl' }, model: { endpoint: model.url, name: 'tiny' } }));
    await vscode.commands.executeCommand(commands.dryRun, { file: agent, name: 'greet' });
    await until(() => remembered().runs[0]?.status === 'succeeded');
    assert.equal(remembered().runs[0]?.kind, 'dev');
    assert.equal(model.requests.filter((request) => request.path.endsWith('/chat/completions')).length, 3);
  });

  it('gives a language model the agents, a dry run, and the reason of a reward', async () => {
    const { token } = new vscode.CancellationTokenSource();
    const invoke = async <T>(name: string, input: object): Promise<T> => {
      const { content } = await vscode.lm.invokeTool(name, { input, toolInvocationToken: undefined }, token);
      return JSON.parse((content[0] as vscode.LanguageModelTextPart).value) as T;
    };
    for (const name of Object.values(tools)) assert.ok(vscode.lm.tools.some((tool) => tool.name === name), name);
    const { agents } = await invoke<{ agents: { agent: string; can_run: boolean; last_mean_reward: number | null }[] }>(tools.listAgents, {});
    const greeter = agents.find(({ agent: each }) => each === 'greeter.py:greet');
    assert.deepEqual([greeter?.can_run, greeter?.last_mean_reward], [true, 1]);

    const { rollouts, mean_reward } = await invoke<{ mean_reward: number; rollouts: { rollout_id: string; outcome: string; reward: number; answer: string }[] }>(tools.dryRun, { agent: 'greeter.py:greet', tasks: 2 });
    assert.equal(mean_reward, 1);
    assert.deepEqual(rollouts.map(({ outcome, reward, answer }) => [outcome, reward, answer]), [['scored', 1, 'Hello.'], ['scored', 1, 'Hello.']]);
    for (const input of [{ rollout_id: rollouts[1]?.rollout_id }, { agent: 'greeter.py:greet' }]) {
      const { reward, rewards, calls, answer } = await invoke<{ reward: number; answer: string; rewards: { value: number; credits_calls: number[] }[]; calls: { said: string; credit: number }[] }>(tools.explainReward, input);
      assert.deepEqual([reward, answer, calls.map(({ said, credit }) => [said, credit])], [1, 'Hello.', [['Hello.', 1]]]);
      assert.deepEqual(rewards.map(({ value, credits_calls }) => [value, credits_calls]), [[1, [0]]]);
    }
    await assert.rejects(invoke(tools.dryRun, { agent: 'nobody.py:none' }), /no agent "nobody\.py:none".*greeter\.py:greet/);
    await assert.rejects(invoke(tools.dryRun, { agent: 'greeter.py:greet', tasks: 6 }), /tasks/);
    await assert.rejects(invoke(tools.explainReward, { rollout_id: 'ro-none' }), /no rollout ro-none/);
  });

  it('has tasks for each configuration, which run in a terminal and mark where an agent failed', async () => {
    const broken = join(folder, 'broken');
    mkdirSync(broken);
    writeFileSync(join(broken, 'agent.py'), 'from agent_trainer import rollout\n\n@rollout\ndef fails(task, llm):\n    raise ValueError("not today")\n');
    writeFileSync(join(broken, 'tasks.jsonl'), '{"name": "Ada"}\n');
    writeFileSync(join(broken, 'agent-trainer.json'), JSON.stringify({ agent: 'agent.py:fails', data: { train: 'tasks.jsonl' }, model: { endpoint: model.url, name: 'tiny' } }));
    const tasks = await vscode.tasks.fetchTasks({ type: 'agent-trainer' });
    assert.deepEqual(tasks.map(({ name }) => name).sort(), ['agent-trainer.json', 'broken/agent-trainer.json'].flatMap((config) => ['dev', 'eval', 'train'].map((command) => `${command} ${config}`)).sort());
    const run = async (name: string): Promise<number | undefined> => {
      const ended = new Promise<number | undefined>((resolve) => { vscode.tasks.onDidEndTaskProcess(({ execution, exitCode }) => { if (execution.task.name === name) resolve(exitCode); }); });
      await vscode.tasks.executeTask(tasks.find((task) => task.name === name) ?? assert.fail(name));
      return ended;
    };
    assert.equal(await run('eval agent-trainer.json'), 0);
    assert.equal(await run('dev broken/agent-trainer.json'), 1);
    await until(() => vscode.languages.getDiagnostics(vscode.Uri.file(join(broken, 'agent.py'))).some(({ message, range }) => message.includes('ValueError: not today') && range.start.line === 4));
    rmSync(broken, { recursive: true });
  });

  it('starts the trainer again when it is killed', async () => {
    const { pid } = server() ?? assert.fail('no trainer');
    process.kill(pid, 'SIGKILL');
    await until(() => server() !== null && server()?.pid !== pid);
    await until(async () => (await fetch(String((JSON.parse(readFileSync(join(state, 'server.json'), 'utf8')) as { url: string }).url) + '/healthz')).ok);
  });

  it('survives a run that cannot start', async () => {
    rmSync(join(folder, 'tasks.jsonl'));
    const before = remembered().runs.length;
    await vscode.commands.executeCommand(commands.dryRun, { file: agent, name: 'greet' });
    await until(() => remembered().runs.length === before + 1 && remembered().runs[0]?.status === 'failed');
    writeFileSync(join(folder, 'tasks.jsonl'), '{"name": "Barbara"}\n');
    await vscode.commands.executeCommand(commands.dryRun, { file: agent, name: 'greet' });
    await until(() => remembered().runs.length === before + 2 && remembered().runs[0]?.status === 'succeeded');
  });
});
