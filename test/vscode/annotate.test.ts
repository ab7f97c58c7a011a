import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createVSIX } from '@vscode/vsce';
import type { Locator } from 'playwright-core';
import { completion, json, refuse, say, startOpenAIServer } from '../fixtures/openai-server.ts';
import type { Answer, OpenAIServer } from '../fixtures/openai-server.ts';
import { folderWindow } from './folder-window.ts';
import { until } from './poll.ts';
import { root } from './real-vscode.ts';

const agent = `import { emitReward, operation, rollout, type LLM } from 'agent-trainer/runtime';

interface Task { question: string; answer: string }

const ask = operation('ask', async (llm: LLM, question: string): Promise<string> => {
  const response = await fetch(\`\${llm.endpoint}/chat/completions\`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: \`Bearer \${llm.api_key}\` },
    body: JSON.stringify({ model: llm.model, messages: [{ role: 'user', content: question }] }),
  });
  if (!response.ok) throw new Error(await response.text());
  const { choices } = await response.json() as { choices: [{ message: { content: string } }] };
  return choices[0].message.content;
});

function grade(said: string, task: Task): number {
  return said.includes(task.answer) ? 1 : 0.25;
}

export const capitals = rollout(async (task: Task, { llm }) => {
  const said = await ask(llm, task.question);
  emitReward(said.length / 20);
  return grade(said, task);
});
`;
const breakpointLine = 21;
const capitals = [['France', 'Paris'], ['Norway', 'Oslo'], ['Peru', 'Lima'], ['Atlantis', 'Poseidonis'], ['Japan', 'Tokyo'], ['Kenya', 'Nairobi']] as const;

/** Knows most capitals, refuses one question, calls the tool it is offered; no token ids. */
const geographer: Answer = (request, response) => {
  const [message] = request.body['messages'] as { content: string }[];
  if (request.body['return_token_ids'] !== undefined) return refuse(400, 'Unknown parameter: return_token_ids', { param: 'return_token_ids' })(request, response);
  if (request.body['tools'] !== undefined) return json(completion('tiny', { tool_calls: [{ id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a":2,"b":3}' } }] }))(request, response);
  const country = capitals.find(([name]) => message?.content.includes(name));
  if (country?.[0] === 'Atlantis') return refuse(400, 'The place is not on any map.')(request, response);
  return say(country === undefined ? 'Hello there.' : country[0] === 'Peru' ? 'I do not know.' : `It is ${country[1]}.`)(request, response);
};
const key = 'sk-for-this-test';

/** The extension with its own trainer in a real VS Code, against a scripted model server at Ollama's address. */
describe('annotations, dry runs with a chosen model, and debugging in a real VS Code', function () {
  this.timeout(300_000);
  let folder = '';
  let languageModel = '';
  let server: OpenAIServer;

  const { open, openAgain } = folderWindow('annotate', async (made) => {
    server = await startOpenAIServer(geographer, 11434);
    folder = made;
    writeFileSync(join(folder, 'capitals.ts'), agent);
    writeFileSync(join(folder, 'tasks.jsonl'), capitals.map(([country, answer]) => JSON.stringify({ question: `What is the capital of ${country}?`, answer })).join('\n'));
    languageModel = join(folder, '.vscode', 'language-model.vsix');
    mkdirSync(join(folder, '.vscode'));
    await createVSIX({ cwd: join(root, 'test', 'fixtures', 'language-model'), packagePath: languageModel, allowMissingRepository: true, skipLicense: true, dependencies: false });
    return { options: { extensions: [languageModel] }, close: () => server.close() };
  });

  const lens = (text: string | RegExp): Locator => open().page.locator('.editor-instance .codelens-decoration a', { hasText: text }).first();
  const row = (text: string | RegExp): Locator => open().page.locator('.quick-input-list .monaco-list-row', { hasText: text }).first();
  const title = (text: string | RegExp): Promise<void> => open().page.locator('.quick-input-title', { hasText: text }).waitFor({ timeout: 60_000 });
  const enter = async (text?: string): Promise<void> => {
    const input = open().page.locator('.quick-input-widget input').first();
    await input.waitFor();
    if (text !== undefined) await input.fill(text);
    await input.press('Enter');
  };
  /** What VS Code draws behind lines: text of pseudo-elements, from the style sheets that hold it. */
  const behindLines = (): Promise<string[]> => open().page.evaluate<string[]>(`[...new Set([...document.querySelectorAll('.view-lines span')]
    .map((element) => getComputedStyle(element, '::after').content.replace(/\\u00a0/g, ' ')).filter((content) => content.includes('mean')))]`);

  const failureMarks = (): Promise<number> => open().page.evaluate<number>(`[...document.querySelectorAll('.glyph-margin-widgets *, .margin-view-overlays *')]
    .filter((element) => getComputedStyle(element).backgroundImage.includes('failed-call')).length`);

  it('"Dry run with…" offers the server found on this machine, shows what it can do, and runs the tasks asked for', async () => {
    await open().openFile('capitals.ts');
    await open().clickUntil(lens('Dry run with…'), row('tiny'));
    await title(/Which model/);
    await row(/tiny.*Ollama on this machine/s).waitFor({ timeout: 60_000 });
    await open().screenshot('model-picker-dark');
    await row('tiny').click();
    await title(/What http:\/\/127\.0\.0\.1:11434\/v1 can do/);
    for (const [question, answer] of [['Token ids', 'No'], ['Log-probabilities', 'Yes'], ['Tools', 'Yes'], ['Streaming', 'Yes'], ['Reinforcement learning', 'No']]) {
      await open().page.locator('.quick-input-widget input').first().fill(question ?? ''); // rows out of sight are not drawn
      await row(new RegExp(`^\\s*${question}\\s*${answer}`)).waitFor({ timeout: 10_000 });
    }
    await open().page.locator('.quick-input-widget input').first().fill('');
    assert.match(await row('Dry run with this model').innerText(), /Prompt tuning: Yes\.\sReinforcement learning: No/);
    await row('Dry run with this model').click();
    await title(/How many tasks of tasks\.jsonl/);
    await enter('4');
    const frame = await open().webview('.tree', 90_000);
    await frame.locator('.status-text', { hasText: 'Finished' }).waitFor({ timeout: 90_000 });
    assert.equal(await frame.locator('[data-kind=rollout]').count(), 4);
  });

  it('the agent then has its rewards above it, behind its lines, and a mark where calls failed', async () => {
    await open().command('View: Close All Editors'); // the trace beside it
    await open().openFile('capitals.ts');
    await lens(/4 rollouts/).waitFor({ timeout: 60_000 });
    assert.match(await lens(/4 rollouts/).innerText(), /mean 0\.75 · 4 rollouts · p95 .*s · 7 tokens/);
    await until(async () => (await behindLines()).length === 2);
    const texts = await behindLines();
    assert.ok(texts.some((text) => /mean 0\.75 · last/.test(text)), texts.join());
    assert.equal(await failureMarks(), 1);
    await open().inAllThemes('annotations');
  });

  it('they follow a run as it goes', async () => {
    await open().clickUntil(lens('Dry run with…'), row('tiny'));
    await row('tiny').click();
    await row('Dry run with this model').click({ timeout: 60_000 });
    await enter('6');
    await open().webview('.tree', 90_000);
    await open().openFile('capitals.ts');
    await lens(/10 rollouts/).waitFor({ timeout: 90_000 });
  });

  it('the setting turns them off and on', async () => {
    writeFileSync(join(folder, '.vscode', 'settings.json'), '{ "agentTrainer.annotations.enabled": false }');
    await lens(/rollouts/).waitFor({ state: 'detached', timeout: 60_000 });
    await until(async () => (await behindLines()).length === 0);
    assert.equal(await lens('Debug rollout').count(), 1);
    writeFileSync(join(folder, '.vscode', 'settings.json'), '{}');
    await lens(/10 rollouts/).waitFor({ timeout: 60_000 });
  });

  it('"Check Model Endpoint" asks with the key that was entered, which no file of the workspace holds', async () => {
    await open().inAllThemes('capabilities', async () => {
      await open().command('Agent Trainer: Check Model Endpoint');
      await title('Endpoint');
      await enter(server.url);
      await title(/Key of/);
      await enter(key);
      await row('Log-probabilities').waitFor({ timeout: 60_000 });
      await open().page.locator('.quick-input-widget').evaluate((widget) => Promise.all((widget as unknown as { getAnimations(options: object): { finished: Promise<unknown> }[] }).getAnimations({ subtree: true }).map(({ finished }) => finished)));
    });
    await open().page.keyboard.press('Escape');
    assert.equal(server.requests.at(-1)?.headers.authorization, `Bearer ${key}`);
    for (const name of readdirSync(folder, { recursive: true }).map(String)) {
      const file = join(folder, name);
      if (statSync(file).isFile()) assert.ok(!readFileSync(file).includes(key), name);
    }
  });

  it('"Debug rollout" stops at a breakpoint in the agent, and the rollout counts when it goes on', async () => {
    const { page } = open();
    await open().openFile('capitals.ts');
    await page.keyboard.press('Control+g');
    await enter(`:${breakpointLine}`);
    await page.keyboard.press('F9');
    await page.locator('.codicon-debug-breakpoint, .codicon-debug-breakpoint-unverified').first().waitFor();
    await open().clickUntil(lens('Debug rollout'), row('tiny'));
    await row('tiny').click();
    await row('Debug with this model').click({ timeout: 60_000 });
    await title(/Which task/);
    await enter('1');
    await page.locator('.debug-top-stack-frame-line').first().waitFor({ timeout: 120_000 });
    await page.locator('.pane-body .monaco-list-row', { hasText: /^\s*Local/ }).first().click();
    await page.locator('.pane-body .monaco-list-row', { hasText: /question: 'What is the capital of France\?'/ }).first().waitFor();
    await open().screenshot('debug-rollout-dark');
    await page.keyboard.press('F5');
    await page.locator('.debug-toolbar').waitFor({ state: 'hidden', timeout: 60_000 });
    await lens(/11 rollouts/).waitFor({ timeout: 60_000 });
  });

  it('a language model of VS Code answers a few rollouts, and no more than that', async () => {
    await open().clickUntil(lens('Dry run with…'), row(/Atlas/));
    await row(/Atlas/).click();
    await title(/How many tasks/);
    const input = open().page.locator('.quick-input-widget input').first();
    await input.fill('6');
    await open().page.locator('.quick-input-message', { hasText: 'from 1 to 5' }).waitFor();
    await input.fill('2');
    await open().page.locator('.quick-input-message', { hasText: 'from 1 to 5' }).waitFor({ state: 'detached' }); // as a person, who sees it accepted
    await open().page.keyboard.press('Enter');
    const frame = await open().webview('.tree', 90_000);
    await frame.locator('.chat-model, [role=treeitem]', { hasText: 'Atlas' }).first().waitFor({ timeout: 90_000 });
    await frame.locator('.status-text', { hasText: 'Finished' }).waitFor({ timeout: 90_000 });
    await open().openFile('capitals.ts');
    await lens(/13 rollouts/).waitFor({ timeout: 60_000 });
    assert.match(await lens(/13 rollouts/).innerText(), /reward/);
  });

  it('a new window remembers them', async () => {
    await open().close();
    await openAgain();
    await open().openFile('capitals.ts');
    await lens(/13 rollouts/).waitFor({ timeout: 90_000 });
    await until(async () => (await behindLines()).length === 2);
  });
});
