import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { refuse, say, startOpenAIServer } from '../fixtures/openai-server.ts';
import type { Answer, OpenAIServer, ReceivedRequest } from '../fixtures/openai-server.ts';
import { folderWindow } from './folder-window.ts';
import { until } from './poll.ts';
import { themes } from './window.ts';
import type { Theme } from './window.ts';

const agent = `import { rollout } from 'agent-trainer/runtime';

interface Task { question: string; answer: string | null }

export const capitals = rollout(async (task: Task, { llm }) => {
  const response = await fetch(\`\${llm.endpoint}/chat/completions\`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: \`Bearer \${llm.api_key}\` },
    body: JSON.stringify({ model: llm.model, messages: [{ role: 'user', content: task.question }] }),
  });
  if (!response.ok) throw new Error(await response.text());
  const { choices } = await response.json() as { choices: [{ message: { content: string } }] };
  if (task.answer === null) return undefined;
  return choices[0].message.content.includes(task.answer) ? 1 : 0.25;
});
`;
const task = (country: string, answer: string | null): string => JSON.stringify({ id: country.toLowerCase(), question: `What is the capital of ${country}?`, answer });
const training = [task('France', 'Paris'), task('Japan', 'Tokyo')];
const validation = [task('Norway', 'Oslo'), task('Peru', 'Lima'), task('Kenya', 'Nairobi'), task('Atlantis', 'Poseidonis'), task('Narnia', null)];

/** Wrong about Peru until it is told better; refuses Atlantis; can be made to say nothing at all. */
const knowledge = { peru: false, silent: false };
const questionOf = (request: ReceivedRequest): string => (request.body['messages'] as { content: string }[])[0]?.content ?? '';
const geographer: Answer = (request, response) => {
  if (knowledge.silent) return;
  const question = questionOf(request);
  if (question.includes('Atlantis')) return refuse(400, 'The place is not on any map.')(request, response);
  const city = question.includes('Norway') ? 'Oslo' : question.includes('Kenya') ? 'Nairobi' : knowledge.peru ? 'Lima' : 'Cusco';
  return say(`It is ${city}.`)(request, response);
};

/** Evaluation in the Test Explorer, tasks and the walkthrough in a real VS Code: the extension with its own trainer, against a scripted model server. */
describe('evaluation in the Test Explorer of a real VS Code', function () {
  this.timeout(300_000);
  let folder = '';
  let server: OpenAIServer;

  const { open } = folderWindow('testing', async (made) => {
    server = await startOpenAIServer(geographer);
    folder = made;
    writeFileSync(join(folder, 'capitals.ts'), agent);
    writeFileSync(join(folder, 'train.jsonl'), training.join('\n'));
    writeFileSync(join(folder, 'heldout.jsonl'), validation.join('\n'));
    writeFileSync(join(folder, 'agent-trainer.json'), JSON.stringify({ agent: 'capitals.ts:capitals', data: { train: 'train.jsonl', validation: 'heldout.jsonl' }, model: { endpoint: server.url, name: 'tiny' } }));
    mkdirSync(join(folder, '.vscode'));
    return { close: () => server.close() };
  });

  const tests = (): Locator => open().page.locator('.test-explorer .monaco-list-row');
  const test = (label: string): Locator => tests().filter({ hasText: label }).first();
  const is = (label: string, state: string): Promise<void> => open().page.locator(`.test-explorer .monaco-list-row[aria-label*="${label}"][aria-label*="(${state})"]`).first().waitFor({ timeout: 90_000 });
  const asked = (): string[] => server.requests.filter(({ path }) => path.endsWith('/chat/completions')).map((request) => /of (\w+)/.exec(questionOf(request))?.[1] ?? '');

  it('lists an agent with its validation tasks, in their order, without running anything', async () => {
    await open().page.locator('.activitybar .action-label[aria-label^="Testing"]').click();
    await test('capitals.ts:capitals').click({ timeout: 60_000 });
    await open().page.keyboard.press('ArrowRight');
    await test('Narnia').waitFor({ timeout: 60_000 });
    assert.deepEqual((await tests().allInnerTexts()).map((text) => text.trim()), ['capitals.ts:capitals', ...['Norway', 'Peru', 'Kenya', 'Atlantis', 'Narnia'].map((country) => `What is the capital of ${country}?`)]);
    assert.equal(server.requests.length, 0);
  });

  it('runs them: a low reward and an error of the agent fail, a missing reward is an error and no failure', async () => {
    await open().command('Test: Run All Tests');
    for (const [label, state] of [['Norway', 'Passed'], ['Peru', 'Failed'], ['Kenya', 'Passed'], ['Atlantis', 'Failed'], ['Narnia', 'Errored']] as const) await is(label, state);
    assert.deepEqual(asked().sort(), ['Atlantis', 'Kenya', 'Narnia', 'Norway', 'Peru']);
  });

  it('a failure shows expected against actual, and leads to its trace', async () => {
    const { page } = open();
    await page.locator('.test-output-peek-tree .monaco-list-row', { hasText: 'Peru' }).click({ timeout: 60_000 });
    const panel = page.locator('.part.panel');
    await panel.locator('.editor.original .view-line', { hasText: 'Lima' }).waitFor();
    assert.match(await panel.locator('.editor.original .view-lines').innerText(), /reward\s≥\s1/);
    assert.match(await panel.locator('.editor.modified .view-lines').innerText(), /reward\s0\.25[^]*It\sis\sCusco\./);
    await open().inAllThemes('evaluation');
    await panel.getByText('Open Trace').click();
    const frame = await open().webview('.tree', 90_000);
    await frame.locator('.status-text', { hasText: 'Finished' }).waitFor({ timeout: 60_000 });
    await frame.locator('[data-kind=rollout][aria-selected=true]', { hasText: 'Peru' }).waitFor({ timeout: 60_000 });
    assert.equal(await frame.locator('[data-kind=rollout]').count(), 5);
    await open().screenshot('evaluation-trace-dark');
  });

  it('runs what failed again, and nothing else', async () => {
    knowledge.peru = true;
    const before = asked().length;
    await open().command('Test: Rerun Failed Tests');
    await is('Peru', 'Passed');
    await is('Narnia', 'Errored');
    await until(() => asked().length === before + 3);
    assert.deepEqual(asked().slice(before).sort(), ['Atlantis', 'Narnia', 'Peru']);
  });

  it('the setting says which reward passes', async () => {
    knowledge.peru = false;
    for (const [threshold, label, state] of [[2, 'Norway', 'Failed'], [0.25, 'Norway', 'Passed'], [0.25, 'Peru', 'Passed'], [1, 'Peru', 'Failed']] as const) {
      writeFileSync(join(folder, '.vscode', 'settings.json'), JSON.stringify({ 'agentTrainer.testing.passThreshold': threshold }));
      await until(async () => { // the setting is noticed in a moment
        const before = asked().length;
        await open().contextMenu(test(label), 'Run Test');
        await until(() => asked().length > before);
        await open().page.locator('.test-explorer .monaco-list-row[aria-label*="(Running)"], .test-explorer .monaco-list-row[aria-label*="(Queued)"]').first().waitFor({ state: 'detached' });
        return await open().page.locator(`.test-explorer .monaco-list-row[aria-label*="${label}"][aria-label*="(${state})"]`).count() === 1;
      }, 90_000);
    }
  });

  it('can be cancelled: what was under way is skipped, and the agents are told to stop', async () => {
    knowledge.silent = true;
    const before = asked().length;
    await open().command('Test: Run All Tests');
    await until(() => asked().length > before, 60_000);
    await open().command('Test: Cancel Test Run');
    await is('Norway', 'Skipped');
    knowledge.silent = false;
    await open().contextMenu(test('Kenya'), 'Run Test');
    await is('Kenya', 'Passed');
  });

  it('the context menu leads to the latest rollout of a task', async () => {
    await open().command('View: Close All Editors');
    await open().contextMenu(test('Kenya'), 'Open Trace');
    const frame = await open().webview('.tree', 90_000);
    await frame.locator('[data-kind=rollout][aria-selected=true]', { hasText: 'Kenya' }).waitFor({ timeout: 60_000 });
    assert.equal(await frame.locator('[data-kind=rollout]').count(), 1);
  });

  it('follows the file of the tasks', async () => {
    appendFileSync(join(folder, 'heldout.jsonl'), `\n${task('Chile', 'Santiago')}\n`);
    await test('Chile').waitFor({ timeout: 60_000 });
    writeFileSync(join(folder, 'heldout.jsonl'), 'no task\n');
    await test('heldout.jsonl').waitFor({ timeout: 60_000 }); // says what is wrong with it, in place of the tasks
    writeFileSync(join(folder, 'heldout.jsonl'), validation.join('\n'));
    await test('Norway').waitFor({ timeout: 60_000 });
  });

  it('offers tasks for the configuration', async () => {
    await open().command('Tasks: Run Task');
    const rows = open().page.locator('.quick-input-list .monaco-list-row');
    await rows.filter({ hasText: /^\s*agent-trainer/ }).click({ timeout: 60_000 });
    for (const command of ['train', 'eval', 'dev']) await rows.filter({ hasText: `${command} agent-trainer.json` }).first().waitFor({ timeout: 60_000 });
    await open().screenshot('tasks-dark');
    await open().page.keyboard.press('Escape');
  });

  it('the walkthrough leads from the agents to their traces', async () => {
    const { page } = open();
    await open().command('View: Close All Editors');
    if (await page.locator('.part.panel').isVisible()) await open().command('View: Hide Panel');
    await open().command('Welcome: Open Walkthrough...');
    await page.locator('.quick-input-list .monaco-list-row', { hasText: 'Get Started with Agent Trainer' }).click({ timeout: 60_000 });
    const steps = page.locator('.getting-started-step');
    await steps.first().waitFor({ timeout: 60_000 });
    assert.equal(await steps.count(), 5);
    await open().webview('svg'); // the page has taken the focus
    const titles = ['Find your agents', 'Make one trainable', 'Run it on a few tasks', 'Train the model behind it', 'Watch what it did'];
    let picture = '';
    for (const theme of [...Object.keys(themes).filter((each) => each !== 'dark'), 'dark'] as Theme[]) {
      await open().setTheme(theme);
      for (const [index, title] of titles.entries()) {
        if (await steps.nth(index).getAttribute('aria-expanded') !== 'true') await steps.nth(index).click();
        await page.locator('.getting-started-step.expanded', { hasText: title }).waitFor();
        const before = picture;
        await until(async () => { // the frame of the last picture goes as the next one comes
          picture = await (await open().webview('svg')).locator('svg').first().innerHTML({ timeout: 5_000 }).catch(() => before);
          return picture !== before;
        });
        await open().screenshot(`walkthrough-${index + 1}-${theme}`);
      }
    }
    await steps.first().click();
    await page.locator('.getting-started-step.expanded').getByText('Show Agents').click();
    await page.locator('.pane-header', { hasText: 'Agents' }).first().waitFor();
  });
});
