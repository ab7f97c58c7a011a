import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { aRun } from '../fixtures/recorded-runs.ts';
import { ReplayTrainer } from '../fixtures/replay-trainer.ts';
import { folderWindow } from './folder-window.ts';
import { until } from './poll.ts';

const files = {
  'shop.code-workspace': JSON.stringify({ folders: [{ path: 'app' }, { path: 'tools' }] }),
  'app/.vscode/settings.json': JSON.stringify({ 'files.exclude': { old: true } }),
  'app/.gitignore': 'generated/\n',
  'app/bots/agent-trainer.json': JSON.stringify({ agent: 'solver.py:solve', data: { train: 'tasks.jsonl' }, model: { path: 'policy' } }),
  'app/bots/tasks.jsonl': '{"question": "2+2", "answer": "4"}\n',
  'app/bots/solver.py': 'from agent_trainer import rollout\nfrom openai import OpenAI\n\n\n@rollout\ndef solve(task, llm):\n    client = OpenAI(base_url=llm.endpoint)\n    answer = client.chat.completions.create(model=llm.model, messages=[])\n    return float(answer == task["answer"])\n',
  'app/bots/chat.ts': "import { generateText } from 'ai';\n\n/** Answers a question. */\nexport async function ask(question: string): Promise<string> {\n  return (await generateText({ model, prompt: question })).text;\n}\n",
  'app/bots/draft.py': '',
  'app/old/before.py': 'import litellm\ndef from_before(q): return litellm.completion(model="m")\n',
  'app/generated/client.py': 'import litellm\ndef generated(q): return litellm.completion(model="m")\n',
  'app/research/graph.py': 'from langgraph.prebuilt import create_react_agent\n\nagent = create_react_agent("openai:gpt-4o", tools=[])\n\n\ndef research(topic):\n    return agent.invoke({"messages": [topic]})\n',
  'tools/notes.py': '# import openai; openai.chat.completions.create()\ntext = "client.chat.completions.create()"\n',
  'tools/review.py': 'import anthropic\n\nclient = anthropic.Anthropic()\n\n\nclass Reviewer:\n    def review(self, patch):\n        return client.messages.create(model="claude", max_tokens=99, messages=[patch])\n',
};

describe('the Agents view in a real VS Code', function () {
  this.timeout(300_000);
  let root = '';
  let trainer: ReplayTrainer;

  const { open } = folderWindow('agents', async (made) => {
    root = made;
    for (const [path, text] of Object.entries(files)) write(path, text);
    trainer = await ReplayTrainer.start(join(root, 'app'));
    const run = aRun('dev', { agent: 'bots/solver.py:solve', status: 'succeeded', phase: 'done', result: { run_id: 'r', rollouts: [], mean_reward: 0.625 } });
    trainer.runs.set(run.run_id, run);
    return { workspaceFile: join(root, 'shop.code-workspace'), close: () => trainer.close() };
  });

  const rows = (): Locator => open().page.locator('[role=tree][aria-label="Agents"] .monaco-list-row');
  const row = (name: string): Locator => open().page.locator(`[role=tree][aria-label="Agents"] .monaco-list-row[aria-label^="${name}, "]`);
  const textsOf = async (one: Locator): Promise<string> => [...await one.locator('.label-name').allInnerTexts(), ...await one.locator('.label-description').allInnerTexts()].filter((text) => text !== '').join(' ');
  const listed = async (): Promise<string[]> => Promise.all((await rows().all()).map(textsOf));

  function write(path: string, text: string): void {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  }

  it('lists the agents of all folders with framework and last reward, and neither excluded nor ignored ones', async () => {
    await open().page.locator('.activitybar .action-label[aria-label="Agent Trainer"]').click();
    await row('solve').filter({ hasText: 'reward 0.63' }).waitFor({ timeout: 60_000 });
    assert.deepEqual(await listed(), [
      'app/bots', 'ask Vercel AI SDK · chat.ts', 'solve OpenAI · reward 0.63 · solver.py', 'app/research', 'research LangGraph · graph.py', 'tools', 'Reviewer.review Anthropic · review.py',
    ]);
  });

  it('says why it found one', async () => {
    const hover = open().page.locator('.monaco-hover, .workbench-hover').filter({ hasText: 'calls client.messages.create at line 8' });
    await until(async () => {
      await open().page.mouse.move(0, 0); // a list that was drawn anew took the hover away
      await row('Reviewer.review').hover();
      return hover.first().waitFor({ timeout: 3000 }).then(() => true, () => false);
    });
    await open().screenshot('agents-tooltip');
    await open().page.keyboard.press('Escape');
  });

  it('opens an agent at its line', async () => {
    await row('ask').click();
    await open().page.locator('.tab.active[data-resource-name="chat.ts"]').waitFor();
    await open().page.locator('.statusbar-item', { hasText: 'Ln 4, Col 1' }).first().waitFor();
  });

  it('offers a dry run and training for wrapped agents only', async () => {
    await row('ask').hover();
    assert.equal(await row('ask').locator('.action-label[aria-label^="Dry Run"], .action-label[aria-label^="Train"]').count(), 0);
    trainer.onStart = () => aRun('train', { agent: 'bots/solver.py:solve', create_time: Date.now() / 1000 });
    await row('solve').hover();
    await row('solve').locator('.action-label[aria-label^="Dry Run"]').waitFor();
    await open().rowAction(row('solve'), 'Train', () => trainer.requests.some(({ method }) => method === 'runs.start'));
    assert.deepEqual(trainer.requests.find(({ method }) => method === 'runs.start')?.params, { kind: 'train', config_path: join(root, 'app', 'bots', 'agent-trainer.json'), overrides: { agent: 'solver.py:solve' } });
  });

  it('looks tidy in every theme', async () => {
    await open().inAllThemes('agents', () => row('solve').hover());
  });

  it('follows an edit before it is saved', async () => {
    await open().openFile('draft.py');
    await open().page.keyboard.insertText('import openai\n\ndef typed(question):\n    return openai.responses.create(input=question');
    await row('typed').filter({ hasText: 'OpenAI · draft.py' }).waitFor();
    await open().page.keyboard.press('Control+Z');
    await row('typed').waitFor({ state: 'detached' });
  });

  it('follows files and folders that come and go', async () => {
    write('tools/new/deep/arrived.py', 'import litellm\n\ndef arrived(q):\n    return litellm.completion(model="m")\n');
    await row('arrived').waitFor();
    write('tools/review.py', files['tools/review.py'].replace('Reviewer', 'Critic'));
    await row('Critic.review').waitFor();
    assert.equal(await row('Reviewer.review').count(), 0);
    rmSync(join(root, 'tools', 'new'), { recursive: true });
    await row('arrived').waitFor({ state: 'detached' });
  });

  it('follows .gitignore and files.exclude', async () => {
    write('app/.gitignore', 'research/\n');
    await row('generated').waitFor();
    await row('research').waitFor({ state: 'detached' });
    write('app/.vscode/settings.json', JSON.stringify({ 'files.exclude': { generated: true } }));
    await row('from_before').waitFor();
    await row('generated').waitFor({ state: 'detached' });
  });
});
