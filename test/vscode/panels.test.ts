import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Frame } from 'playwright-core';
import type { Outcome } from '../../trainer/protocol/rollout.ts';
import { aRollout, aRun, aStep, spansOf } from '../fixtures/recorded-runs.ts';
import { ReplayTrainer } from '../fixtures/replay-trainer.ts';
import { until } from './poll.ts';
import { packedExtension, realVSCode, root } from './real-vscode.ts';
import { themes, VSCodeWindow } from './window.ts';
import type { Theme } from './window.ts';

/** The whole extension in a real VS Code, its trainer replaced by one that replays known values. */
describe('panels in a real VS Code', function () {
  this.timeout(300_000);
  let folder = '';
  let trainer: ReplayTrainer;
  let window: VSCodeWindow | undefined;

  before(async function () {
    const code = await realVSCode();
    if ('missing' in code) {
      console.log(`    skipped: ${code.missing}`);
      return this.skip();
    }
    folder = mkdtempSync(join(tmpdir(), 'agent-trainer-workspace-'));
    cpSync(join(root, 'examples', 'sql-agent'), join(folder, 'sql-agent'), { recursive: true, filter: (path) => !path.includes('.agent-trainer') });
    writeFileSync(join(folder, 'sql-agent', 'agent-trainer.json'), JSON.stringify({ agent: 'agent.ts:sqlAgent', data: { train: 'data/train.jsonl' }, model: { path: 'policy' }, grpo: { steps: 12 } }));
    trainer = await ReplayTrainer.start(folder);
    window = await VSCodeWindow.open(code, packedExtension(), folder);
  });

  afterEach(async function () {
    if (this.currentTest?.state === 'failed') await window?.screenshot(`failed-${this.currentTest.title.replace(/\W+/g, '-')}`);
  });

  after(async () => {
    await window?.close();
    await trainer?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = (): VSCodeWindow => window ?? assert.fail('no window');

  for (const file of ['agent.py', 'agent.ts']) {
    it(`shows both lenses over the agent of ${file}`, async () => {
      await open().openFile(file);
      const lens = open().page.locator('.editor-instance .codelens-decoration').filter({ hasText: 'Dry run' });
      await lens.first().waitFor({ timeout: 60_000 });
      assert.match(await lens.first().innerText(), /Dry run.*Train/s);
      await open().screenshot(`code-lens-${file.replace('.', '-')}`);
    });
  }

  it('Train Agent from the palette starts the agent at the cursor by the nearest configuration', async () => {
    trainer.onStart = () => aRun('train', { phase: 'evaluating-before', create_time: Date.now() / 1000 });
    await open().command('Agent Trainer: Train Agent');
    await open().webview('.run-header h1');
    const request = trainer.requests.find(({ method }) => method === 'runs.start')?.params;
    assert.deepEqual(request, { kind: 'train', config_path: join(folder, 'sql-agent', 'agent-trainer.json'), overrides: { agent: 'agent.ts:sqlAgent' } });
  });

  it('the curve grows with each step, and the numbers with it', async () => {
    const frame = await open().webview('figure.curve');
    const run = trainer.runs.get(aRun('train').run_id) ?? assert.fail('no run');
    trainer.emit({ type: 'run', run: { ...run, phase: 'training' } });
    for (let step = 0; step < 3; step++) {
      trainer.emit({ type: 'step', run_id: run.run_id, metrics: aStep(step) });
      await frame.locator(`figure.curve[data-points="${step + 1}"]`).waitFor();
    }
    assert.equal(await frame.locator('tbody tr').count(), 3);
    assert.match(await frame.locator('tbody tr').first().innerText(), /3\s+0\.460 ± 0\.41/);
    assert.match(await frame.locator('.progress-text').innerText(), /Step 4 of 12 · about 51 s left/);
    assert.ok(await curveColours(frame) > 1, 'the canvas shows more than one colour');
    trainer.emit({ type: 'notice', run_id: run.run_id, level: 'warning', message: 'Validation answers were cut at 64 tokens in 3 rollouts.' });
    for (let step = 3; step < 10; step++) trainer.emit({ type: 'step', run_id: run.run_id, metrics: aStep(step) });
    await frame.locator('figure.curve[data-points="10"]').waitFor();
    await inAllThemes('training');
  });

  it('Cancel asks the trainer to cancel and shows that it did', async () => {
    const frame = await open().webview('figure.curve');
    await frame.locator('vscode-button', { hasText: 'Cancel' }).click();
    await frame.locator('.status-text', { hasText: 'Cancelled' }).waitFor();
    assert.equal(await frame.locator('vscode-button', { hasText: 'Cancel' }).count(), 0);
  });

  it('a finished run shows the comparison on held-out tasks', async () => {
    const frame = await open().webview('figure.curve');
    const run = trainer.runs.get(aRun('train').run_id) ?? assert.fail('no run');
    const result = { run_id: run.run_id, steps: 10, before: { mean_reward: 0.462, n: 240 }, after: { mean_reward: 0.913, n: 240 }, difference: { mean: 0.451, ci95: [0.388, 0.513], p_value: 0.0002 }, checkpoint: '/tmp/x', wall_s: 170 };
    trainer.emit({ type: 'run', run: { ...run, status: 'succeeded', phase: 'done', result, end_time: run.create_time + 170 } });
    await frame.locator('.fact', { hasText: '0.462 → 0.913' }).waitFor();
    await inAllThemes('training-finished');
  });

  it('the trace of a training run shows one step, the latest first', async () => {
    const run = trainer.runs.get(aRun('train').run_id) ?? assert.fail('no run');
    for (const [index, step] of [8, 9, 9].entries()) {
      const rollout = aRollout(run, 100 + index, { outcome: 'scored', reward: 1 }, { step, mode: 'train' });
      trainer.emit({ type: 'rollout', run_id: run.run_id, rollout });
      trainer.emit({ type: 'spans', run_id: run.run_id, spans: spansOf(rollout, 1) });
    }
    const training = await open().webview('figure.curve');
    await training.locator('vscode-button', { hasText: 'Trace' }).click();
    const frame = await open().webview('.tree');
    await until(async () => await frame.locator('[data-kind=rollout]').count() === 2);
    await frame.locator('vscode-dropdown').click();
    await open().screenshot('trace-of-training');
    await frame.locator('vscode-option', { hasText: 'Step 9' }).click();
    await until(async () => await frame.locator('[data-kind=rollout]').count() === 1);
  });

  it('a dry run shows its spans as they arrive', async () => {
    const run = aRun('dev', { create_time: Date.now() / 1000 });
    trainer.onStart = () => run;
    await open().openFile('agent.ts');
    await open().command('Agent Trainer: Dry Run Agent');
    const frame = await open().webview('.tree');
    await until(() => trainer.requests.some(({ method }) => method === 'rollouts.list'));
    const first = aRollout(run, 0, null);
    trainer.emit({ type: 'rollout', run_id: run.run_id, rollout: first });
    await frame.locator('[role=treeitem][data-kind=rollout]').waitFor();
    for (const [index, span] of spansOf(first, 1).entries()) {
      trainer.emit({ type: 'spans', run_id: run.run_id, spans: [span] });
      await frame.locator('[role=treeitem]:not([data-kind=rollout])').nth(index).waitFor();
    }
    trainer.emit({ type: 'rollout', run_id: run.run_id, rollout: aRollout(run, 0, { outcome: 'scored', reward: 1 }) });
    const ends: ({ outcome: Outcome; reward?: number; error?: string } | null)[] = [{ outcome: 'scored', reward: 0 }, { outcome: 'timeout', error: 'The agent did not finish within 120 s and was stopped.' }, { outcome: 'scored', reward: 1 }, { outcome: 'unscored' }, null];
    for (const [index, end] of ends.entries()) {
      const rollout = aRollout(run, index + 1, end);
      trainer.emit({ type: 'rollout', run_id: run.run_id, rollout });
      if (end !== null) trainer.emit({ type: 'spans', run_id: run.run_id, spans: spansOf(rollout, end.reward ?? 0) });
    }
    await frame.locator('[data-kind=rollout]').nth(5).waitFor();
    await frame.locator('[data-kind=llm]').first().click();
    await frame.locator('.message[data-role=assistant]', { hasText: 'SELECT COUNT(*)' }).waitFor();
    await inAllThemes('trace');
  });

  it('the tree obeys the keyboard', async () => {
    const frame = await open().webview('.tree');
    await frame.locator('[role=treeitem]').first().focus();
    await open().page.keyboard.press('ArrowLeft');
    assert.equal(await frame.locator('[role=treeitem]:not([data-kind=rollout])').count(), 0);
    await open().page.keyboard.press('ArrowDown');
    await open().page.keyboard.press('ArrowDown');
    assert.match(await frame.locator('.detail').innerText(), /did not finish within 120 s/);
    assert.equal(await frame.locator('[role=treeitem][tabindex="0"]').count(), 1);
  });

  async function inAllThemes(name: string): Promise<void> {
    for (const theme of [...Object.keys(themes).filter((each) => each !== 'dark'), 'dark'] as Theme[]) {
      await open().setTheme(theme);
      await open().screenshot(`${name}-${theme}`);
    }
  }
});

/** How many colours the chart's canvas holds: an empty one has one. */
function curveColours(frame: Frame): Promise<number> {
  return frame.locator('figure.curve canvas').evaluate((element) => {
    const canvas = element as unknown as { width: number; height: number; getContext(kind: string): { getImageData(x: number, y: number, w: number, h: number): { data: Uint8ClampedArray } } };
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    const colours = new Set<number>();
    for (let at = 0; at < pixels.length; at += 4) colours.add(((pixels[at] ?? 0) << 16) + ((pixels[at + 1] ?? 0) << 8) + (pixels[at + 2] ?? 0));
    return colours.size;
  });
}
