import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Frame, Locator } from 'playwright-core';
import { startPromptServer } from '../../bench/fixtures/prompt-server.ts';
import type { PromptServer } from '../../bench/fixtures/prompt-server.ts';
import { worldTasks } from '../../bench/fixtures/prompt-world.ts';
import { pythonAgent } from '../integration/optimize/agents.ts';
import { folderWindow } from './folder-window.ts';
import { until } from './poll.ts';

const original = 'Book a room for: {request} Explain your reasons at length.';

/** The packed extension with its own trainer in a real VS Code: a prompt is tuned against a scripted model server. */
describe('tuning a prompt in a real VS Code', function () {
  this.timeout(300_000);
  let folder = '';
  let model: PromptServer;

  const { open } = folderWindow('optimize', async (made) => {
    model = await startPromptServer();
    folder = made;
    mkdirSync(join(folder, '.vscode'));
    writeFileSync(join(folder, '.vscode', 'settings.json'), JSON.stringify({ 'files.autoSave': 'afterDelay', 'files.autoSaveDelay': 100 }));
    writeFileSync(join(folder, 'agent.py'), pythonAgent);
    writeFileSync(join(folder, 'tasks.jsonl'), worldTasks('w', 120).map(({ input }) => `${JSON.stringify(input)}\n`).join(''));
    writeFileSync(join(folder, 'agent-trainer.json'), JSON.stringify({ agent: 'agent.py', data: { train: 'tasks.jsonl' }, model: { endpoint: model.url, name: 'agent' }, runner: { n_runners: 2 } }));
    return { close: () => model.close() };
  });

  const panel = (): Promise<Frame> => open().webview('.agent-choice');
  const button = (frame: Frame, text: string): Locator => frame.locator('vscode-button', { hasText: text }).first();
  const lens = (text: string | RegExp): Locator => open().page.locator('.editor-instance .codelens-decoration a', { hasText: text }).first();
  const onDisk = (): string => readFileSync(join(folder, 'agent.py'), 'utf8');

  /** The editor saves by itself. */
  const saved = (isRight: (text: string) => boolean): Promise<void> => until(() => isRight(onDisk()), 60_000);

  it('a search that starts from the lens shows its candidates as they come', async () => {
    await open().openFile('agent.py');
    await lens('Optimize prompt').click({ timeout: 60_000 });
    const frame = await panel();
    await frame.locator('.chosen-value', { hasText: 'tasks.jsonl' }).waitFor({ timeout: 60_000 });
    await frame.locator('label', { hasText: 'Rollouts' }).locator('input').fill('5000');
    await frame.locator('#algorithm').focus();
    await button(frame, 'Start search').click();
    await frame.locator('[data-candidate=c0]').waitFor({ timeout: 120_000 });
    await frame.locator('[data-candidate=c1]').waitFor({ timeout: 120_000 });
    await lens(/Optimizing: [\d,]+ of 5,000 rollouts/).waitFor();
    await open().screenshot('real-optimize-running');
    await frame.locator('.candidate:not([data-candidate=c0])[data-best]').waitFor({ timeout: 120_000 });
    await button(frame, 'Finish now').click();
    await frame.locator('.status-text', { hasText: 'Finished' }).waitFor({ timeout: 240_000 });
    await frame.locator('.verdict-title').waitFor();
    await open().screenshot('real-optimize-done');
    assert.ok(model.calls.optimizer > 0);
    assert.ok(await frame.locator('[role=treeitem]').count() > 1);
  });

  it('its best text goes into the source, and one undo gives back every byte', async () => {
    const frame = await panel();
    await button(frame, 'Edit…').click();
    const best = await frame.locator('textarea').inputValue();
    await button(frame, 'Cancel').click();
    assert.notEqual(best, original);
    assert.ok(best.includes('{request}'));
    await button(frame, 'Apply…').click();
    await open().page.locator('.monaco-diff-editor .line-insert').first().waitFor({ timeout: 60_000 });
    await open().page.locator('.editor-actions .action-label[aria-label^="Apply Change"]').click();
    await saved((text) => text !== pythonAgent);
    assert.equal(onDisk(), pythonAgent.replace(original, best));
    await lens(/Optimize \(0\.\d\d\)/).waitFor();
    await open().page.locator('.editor-instance .view-lines').first().click();
    await open().page.keyboard.press('Control+z');
    await saved((text) => text === pythonAgent);
  });
});
