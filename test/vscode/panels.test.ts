import assert from 'node:assert/strict';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Frame } from 'playwright-core';
import { aRollout, aRun, aStep, spansOf } from '../fixtures/recorded-runs.ts';
import { ReplayTrainer } from '../fixtures/replay-trainer.ts';
import { folderWindow } from './folder-window.ts';
import { until } from './poll.ts';
import { root } from './real-vscode.ts';

/** The whole extension in a real VS Code, its trainer replaced by one that replays known values. */
describe('panels in a real VS Code', function () {
  this.timeout(300_000);
  let folder = '';
  let trainer: ReplayTrainer;

  const { open } = folderWindow('panels', async (made) => {
    folder = made;
    cpSync(join(root, 'examples', 'sql-agent'), join(folder, 'sql-agent'), { recursive: true, filter: (path) => !path.includes('.agent-trainer') });
    writeFileSync(join(folder, 'sql-agent', 'agent-trainer.json'), JSON.stringify({ agent: 'agent.ts:sqlAgent', data: { train: 'data/train.jsonl' }, model: { path: 'policy' }, grpo: { steps: 12 } }));
    trainer = await ReplayTrainer.start(folder);
    return { close: () => trainer.close() };
  });

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
    await open().inAllThemes('training');
  });

  it('Stop asks the trainer to cancel and shows that it did', async () => {
    const frame = await open().webview('figure.curve');
    await frame.locator('vscode-button', { hasText: 'Stop' }).click();
    await frame.locator('.status-text', { hasText: 'Cancelled' }).waitFor();
    assert.equal(await frame.locator('vscode-button', { hasText: 'Stop' }).count(), 0);
  });

  it('a finished run shows the comparison on held-out tasks', async () => {
    const frame = await open().webview('figure.curve');
    const run = trainer.runs.get(aRun('train').run_id) ?? assert.fail('no run');
    const result = { run_id: run.run_id, steps: 10, before: { mean_reward: 0.462, n: 240 }, after: { mean_reward: 0.913, n: 240 }, difference: { mean: 0.451, ci95: [0.388, 0.513], p_value: 0.0002 }, checkpoint: '/tmp/x', wall_s: 170 };
    trainer.emit({ type: 'run', run: { ...run, status: 'succeeded', phase: 'done', result, end_time: run.create_time + 170 } });
    await frame.locator('.fact', { hasText: '0.462 → 0.913' }).waitFor();
    await open().inAllThemes('training-finished');
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
