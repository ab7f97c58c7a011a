import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Frame, Locator } from 'playwright-core';
import type { Run, StepMetrics } from '../../trainer/protocol/run.ts';
import type { AttemptedRollout } from '../../trainer/protocol/rollout.ts';
import { aRollout, aRun, aStep } from '../fixtures/recorded-runs.ts';
import { ReplayTrainer } from '../fixtures/replay-trainer.ts';
import { folderWindow } from './folder-window.ts';
import { until } from './poll.ts';

const began = Date.now() / 1000 - 300;
const live = aRun('train', { create_time: began, runners: 8 });
const earlier = aRun('train', {
  run_id: 'ru-111111111111', create_time: began - 7200, status: 'succeeded', phase: 'done', end_time: began - 7000,
  result: { run_id: 'ru-111111111111', steps: 12, before: { mean_reward: 0.462, n: 240 }, after: { mean_reward: 0.781, n: 240 }, difference: { mean: 0.319, ci95: [0.262, 0.377], p_value: 0.0002 }, checkpoint: '/tmp/policy', wall_s: 200 },
});
const broken = aRun('train', { run_id: 'ru-222222222222', create_time: began - 9000, status: 'interrupted', end_time: began - 8900, error: 'The trainer ended while the run was going.' });
const dry = aRun('dev', { create_time: began - 9900, status: 'succeeded', phase: 'done', end_time: began - 9880, result: { run_id: 'x', rollouts: [], mean_reward: 0.4 } });

const wave = (step: number, of: number): number => Math.sin(step * 1.7 + of) * 0.5 + Math.sin(step * 0.6 + of) * 0.5;

/** A step of the live run; its losses name rollouts there are. */
function liveStep(step: number): StepMetrics {
  const rewards = [0.43, 0.47, 0.46, 0.55, 0.61, 0.6, 0.68, 0.74, 0.77, 0.83, 0.86, 0.9];
  const metrics = aStep(step, {
    reward_mean: rewards[step] ?? 0.9, clip_fraction: 0.016 + 0.008 * wave(step, 1), grad_norm: 0.84 + 0.2 * wave(step, 2), kl: 0.002 * step ** 1.3, response_tokens_mean: 23.4 - step * 0.3 + wave(step, 3),
    rollouts_per_s: 31.2 + 2 * wave(step, 4), tokens_per_s: 2480 + 140 * wave(step, 5),
  });
  return { ...metrics, funnel: { ...metrics.funnel, losses: metrics.funnel.losses.map((loss, index) => ({ ...loss, rollout_ids: Array.from({ length: [1, 3, 9, 16][index] ?? 1 }, (_, i) => idOf(step, index * 24 + i)) })) } };
}

const idOf = (step: number, index: number): string => `ro-${String(step).padStart(4, '0')}${String(index).padStart(8, '0')}`;

/** 16 tasks, 8 rollouts each. */
function rolloutsOf(step: number): AttemptedRollout[] {
  return Array.from({ length: 128 }, (_, index) => {
    const end = index >= 24 && index < 27 ? { outcome: 'timeout' as const, error: 'The agent did not finish within 120 s and was stopped.' }
      : index >= 72 && index < 80 ? { outcome: 'scored' as const, reward: 1 } : { outcome: 'scored' as const, reward: [0, 1, 1, 0.5, 1, 0, 1, 1][(index * 5 + step) % 8] ?? 0 };
    const rollout = aRollout(live, Math.floor(index / 8), end, { rollout_id: idOf(step, index), step, mode: 'train', task_id: `t${Math.floor(index / 8)}` });
    return { ...rollout, attempt: rollout.attempt && { ...rollout.attempt, rollout_id: rollout.rollout_id } };
  });
}

/** The Runs view and the training panel in a real VS Code, the trainer replaced by one that replays known values. */
describe('runs in a real VS Code', function () {
  this.timeout(300_000);
  let folder = '';
  let trainer: ReplayTrainer;

  const { open } = folderWindow('runs', async (made) => {
    folder = made;
    writeFileSync(join(folder, 'agent-trainer.json'), JSON.stringify({ agent: 'agent.ts', data: { train: 'train.jsonl' }, model: { path: 'policy' } }));
    trainer = await ReplayTrainer.start(folder);
    writeFileSync(join(folder, '.agent-trainer', 'trainer.db'), ''); // it has had runs
    for (const run of [dry, broken, earlier, live]) trainer.runs.set(run.run_id, run);
    trainer.runs.set(live.run_id, { ...live, config: { agent: 'agent.ts:sqlAgent', algorithm: 'grpo', grpo: { steps: 12, train_batch_size: 16, group_size: 8, lr: 5e-4 }, seed: 7 } });
    trainer.steps.set(earlier.run_id, Array.from({ length: 12 }, (_, step) => aStep(step, { reward_mean: 0.42 + 0.03 * step + 0.02 * wave(step, 6), val_reward: step % 4 === 3 ? 0.38 + 0.03 * step : null, entropy: 0.6 - 0.012 * step, kl: null, rollouts_per_s: 24 + wave(step, 7), tokens_per_s: 1900 + 60 * wave(step, 8) })));
    trainer.steps.set(live.run_id, Array.from({ length: 8 }, (_, step) => liveStep(step)));
    trainer.checkpoints.set(live.run_id, [6, 7].map((step) => ({ step, folder: join(folder, '.agent-trainer', 'runs', live.run_id, 'checkpoints', `step-00000${step}`), val_reward: null, best: false })));
    for (let step = 0; step < 12; step++) for (const rollout of rolloutsOf(step)) trainer.rollouts.set(rollout.rollout_id, rollout);
    return { close: () => trainer.close() };
  });

  const panel = (): Promise<Frame> => open().webview('figure.curve');
  const row = (text: string | RegExp): Locator => open().page.locator('.sidebar .monaco-list-row').filter({ hasText: text });
  const runs = (): Locator => row(/(training|dry run) ·/);
  const asked = (method: string) => trainer.requests.filter((request) => request.method === method).map((request) => request.params);
  const run = (id = live.run_id): Run => trainer.runs.get(id) ?? assert.fail('no run');

  it('the Runs view lists every run with its state, newest first', async () => {
    await open().page.locator('.activitybar .action-label[aria-label^="Agent Trainer"]').click();
    await until(async () => await runs().count() === 4);
    const lines = await runs().allInnerTexts();
    assert.match(lines[0] ?? '', /training/);
    assert.match(lines[1] ?? '', /reward 0\.462 → 0\.781/);
    assert.match(lines[2] ?? '', /interrupted/);
    assert.match(lines[3] ?? '', /dry run · reward 0\.400/);
  });

  it('runs that another process made meanwhile are there when the view is seen again', async () => {
    const other = aRun('dev', { run_id: 'ru-333333333333', create_time: began - 99_000, status: 'succeeded', phase: 'done', end_time: began - 98_900, result: { run_id: 'x', rollouts: [], mean_reward: 0.25 } });
    trainer.runs.set(other.run_id, other);
    await open().page.locator('.activitybar .action-label[aria-label^="Explorer"]').click();
    await row(/dry run · reward 0\.400/).waitFor({ state: 'detached' });
    await open().page.locator('.activitybar .action-label[aria-label^="Agent Trainer"]').click();
    await row(/dry run · reward 0\.250/).waitFor();
    trainer.emit({ type: 'run-deleted', run_id: other.run_id });
    await until(async () => await runs().count() === 4);
  });

  it('under a run are its outcome, checkpoints and configuration', async () => {
    await runs().first().locator('.monaco-tl-twistie').click();
    await row('Checkpoint after step 8').waitFor();
    await row('Checkpoint after step 7').waitFor();
    await row('Configuration').locator('.monaco-tl-twistie').click();
    await row('grpo.lr').waitFor();
    assert.match(await row('grpo.lr').innerText(), /0\.0005/);
  });

  it('a run opens in the training panel with a chart of each metric, and grows with it', async () => {
    await runs().first().click();
    const frame = await panel();
    await frame.locator('figure.curve[data-points="8"]').waitFor();
    assert.deepEqual(await frame.locator('.chart-card').evaluateAll((cards) => cards.map((card) => (card as unknown as { dataset: Record<string, string> }).dataset['chart'])), ['reward', 'response', 'entropy', 'kl', 'clip', 'gradient', 'rollouts', 'tokens', 'staleness', 'loss']);
    await until(async () => await frame.locator('.chart-card canvas').count() === 10);
    trainer.emit({ type: 'step', run_id: live.run_id, metrics: liveStep(8) });
    await frame.locator('figure.curve[data-points="9"]').waitFor();
    await frame.locator('[data-step="9"] .mark').first().waitFor();
    await open().inAllThemes('runs-training');
  });

  it('a click on a chart looks into that step', async () => {
    const frame = await panel();
    await frame.locator('figure.curve').scrollIntoViewIfNeeded();
    const box = await frame.locator('figure.curve .u-over').boundingBox() ?? assert.fail('no plot');
    await open().page.mouse.click(box.x + box.width * (3 / 8), box.y + box.height / 2); // steps 1 to 9
    await frame.locator('[data-step="4"]').waitFor();
    await until(async () => await frame.locator('.mark').count() === 128);
    await frame.locator('.stepper button', { hasText: '›' }).click();
    await frame.locator('[data-step="5"]').waitFor();
    await frame.locator('tbody tr button', { hasText: /^3$/ }).click();
    await frame.locator('[data-step="3"]').waitFor();
    assert.deepEqual(asked('rollouts.list').slice(-3), [3, 4, 2].map((step) => ({ run_id: live.run_id, step })));
  });

  it('a loss of the funnel shows its rollouts, each of which opens its trace', async () => {
    const frame = await panel();
    await frame.locator('section[aria-label="Step"] .section-head').evaluate((element) => { (element as unknown as { scrollIntoView(): void }).scrollIntoView(); });
    await until(async () => await frame.locator('.mark').count() === 128);
    await open().inAllThemes('runs-step');
    await frame.locator('.losses button', { hasText: 'timeout' }).click();
    await until(async () => await frame.locator('.mark').count() === 3);
    assert.deepEqual(await frame.locator('.mark').allInnerTexts(), ['timed out', 'timed out', 'timed out']);
    await open().screenshot('runs-loss');
    await frame.locator('.mark').first().click();
    const trace = await open().webview('.tree');
    await trace.locator('.detail', { hasText: 'did not finish within 120 s' }).waitFor();
    await open().page.locator('.tab', { hasText: 'Training' }).click();
    const again = await panel();
    await again.locator('button', { hasText: 'Show all rollouts of the step' }).click();
    await until(async () => await again.locator('.mark').count() === 128);
    await again.locator('button', { hasText: 'Show the newest' }).click();
    await again.locator('[data-step="9"]').waitFor();
  });

  it('compares runs on the same charts', async () => {
    const frame = await panel();
    await frame.locator('vscode-button', { hasText: 'Compare…' }).click();
    const { page } = open();
    await page.locator('.quick-input-list .monaco-list-row').filter({ hasText: 'Finished' }).locator('input, .monaco-checkbox, .quick-input-list-checkbox').first().click();
    await page.locator('.quick-input-widget .quick-input-action', { hasText: 'OK' }).click();
    await until(async () => await frame.locator('.legend li').count() === 2);
    await frame.locator('.legend li').nth(1).filter({ hasText: /reward 0\.7\d\d at step 12/ }).waitFor();
    assert.equal(await frame.locator('figure.curve .values .value').count(), 2);
    await frame.locator('section[aria-label="Charts"]').evaluate((element) => { (element as unknown as { scrollIntoView(): void }).scrollIntoView(); });
    await open().inAllThemes('runs-compared');
    await frame.locator('.legend button', { hasText: 'Leave out' }).click();
    await until(async () => !await frame.locator('.legend').isVisible());
  });

  it('pauses, resumes, and changes how many rollouts run at a time', async () => {
    const frame = await panel();
    await frame.locator('vscode-button', { hasText: 'Pause' }).click();
    await frame.locator('.status-text', { hasText: 'Paused' }).waitFor();
    assert.deepEqual(asked('runs.pause'), [{ run_id: live.run_id }]);
    await open().page.locator('.statusbar-item', { hasText: 'Paused: Training 9/12' }).waitFor();
    await frame.locator('vscode-button', { hasText: 'Resume' }).click();
    await frame.locator('vscode-button', { hasText: 'Pause' }).waitFor();
    assert.deepEqual(asked('runs.resume'), [{ run_id: live.run_id }]);
    await frame.locator('button[aria-label="One more at a time"]').click();
    await frame.locator('.runners output', { hasText: '9' }).waitFor();
    await frame.locator('button[aria-label="One fewer at a time"]').click();
    await frame.locator('.runners output', { hasText: '8' }).waitFor();
    assert.deepEqual(asked('runs.set_runners'), [{ run_id: live.run_id, n: 9 }, { run_id: live.run_id, n: 8 }]);
  });

  it('says in the status bar what a run waits for when nothing moves', async () => {
    trainer.emit({ type: 'notice', run_id: live.run_id, level: 'warning', message: 'Waiting on the agent for 3 min: 2 rollouts under way.', waiting: { on: 'the agent', since: Date.now() / 1000 - 180 } });
    await open().page.locator('.statusbar-item', { hasText: 'Waiting on the agent for 3 min' }).waitFor();
    const frame = await panel();
    await frame.locator('.callout', { hasText: 'Waiting on the agent for 3 min' }).waitFor();
    await open().screenshot('runs-waiting');
    trainer.emit({ type: 'step', run_id: live.run_id, metrics: liveStep(9) });
    await open().page.locator('.statusbar-item', { hasText: 'Training 10/12' }).waitFor();
  });

  it('stops the run from its panel; then it can be resumed', async () => {
    const frame = await panel();
    await frame.locator('vscode-button', { hasText: 'Stop' }).click();
    await frame.locator('.status-text', { hasText: 'Cancelled' }).waitFor();
    assert.equal(await frame.locator('vscode-button', { hasText: 'Stop' }).count(), 0);
    assert.equal(await frame.locator('.runners').isVisible(), false);
    await frame.locator('vscode-button', { hasText: 'Resume' }).click();
    await frame.locator('vscode-button', { hasText: 'Stop' }).waitFor();
    assert.equal(run().status, 'running');
  });

  it('the view resumes an interrupted run, exports one, and deletes one after asking', async () => {
    const { page } = open();
    await open().rowAction(row(/interrupted/), 'Resume Run', () => run(broken.run_id).status === 'running');

    await open().contextMenu(row(/0\.462 → 0\.781/), 'Export Run…');
    await page.locator('.quick-input-widget input').first().waitFor();
    await page.locator('.quick-input-widget .monaco-button', { hasText: /Export here/ }).click();
    await until(() => asked('runs.export').length === 1);
    assert.deepEqual(asked('runs.export'), [{ run_id: earlier.run_id, folder: join(folder, earlier.run_id) }]);
    await page.locator('.notification-toast', { hasText: 'Exported to' }).waitFor();

    const dialog = page.locator('.monaco-dialog-box');
    await open().contextMenu(row(/dry run/), 'Delete Run…');
    await dialog.waitFor();
    assert.match(await dialog.innerText(), /traces and checkpoints are removed/);
    await dialog.locator('.monaco-button', { hasText: 'Cancel' }).click();
    assert.deepEqual(asked('runs.delete'), []);
    await open().contextMenu(row(/dry run/), 'Delete Run…');
    await dialog.locator('.monaco-button', { hasText: 'Delete' }).click();
    await until(async () => await runs().count() === 3);
    assert.deepEqual(asked('runs.delete'), [{ run_id: dry.run_id }]);
    await open().inAllThemes('runs-view');
  });

  it('a run that learns from pairs of answers shows its loss, pairs and margins, and which checkpoint was best', async () => {
    const preferences = aRun('train', { run_id: 'ru-444444444444', agent: 'examples/sql-agent/agent.ts:sqlAgent', status: 'succeeded', phase: 'done', create_time: Date.now() / 1000 });
    const none = { rollouts: 0, calls: 0, with_token_ids: 0, scored: 0, trainable: 0, used: 0, losses: [] };
    trainer.runs.set(preferences.run_id, preferences);
    trainer.checkpoints.set(preferences.run_id, [9, 19].map((step, index) => ({ step, folder: join(folder, `step-0000${step}`), val_reward: 0.61 - 0.08 * index, best: index === 0 })));
    trainer.steps.set(preferences.run_id, Array.from({ length: 20 }, (_, step) => aStep(step, {
      reward_mean: null, response_tokens_mean: null, kl: null, clip_fraction: null, entropy: null, staleness: null, rollouts_per_s: 0, tokens_per_s: 0, rollout_s: 0, funnel: none,
      loss: 0.69 * Math.exp(-step / 9) + 0.02 * wave(step, 1), reward_accuracy: Math.min(1, 0.5 + step * 0.03 + 0.03 * wave(step, 2)), reward_margin: step * 0.11 + 0.1 * wave(step, 3), val_reward: step % 10 === 9 ? 0.69 - 0.004 * step : null, train_s: 1.7,
    })));
    await open().page.locator('.activitybar .action-label[aria-label^="Explorer"]').click();
    await open().page.locator('.activitybar .action-label[aria-label^="Agent Trainer"]').click();
    await row(/training · finished/).click();
    await row(/training · finished/).locator('.monaco-tl-twistie').click();
    const frame = await panel();
    await frame.locator('figure.curve[data-chart=loss][data-points="20"]').waitFor();
    assert.deepEqual(await frame.locator('.chart-card:not([hidden])').evaluateAll((cards) => cards.map((card) => (card as unknown as { dataset: Record<string, string> }).dataset['chart'])), ['loss', 'reward', 'accuracy', 'margin', 'gradient']);
    assert.equal(await frame.locator('section[aria-label="Step"]').isVisible(), false);
    await row(/Checkpoint after step 10.*best validation reward 0\.610/).waitFor();
    await open().inAllThemes('runs-preferences');
  });
});

