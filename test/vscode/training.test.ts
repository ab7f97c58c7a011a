import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folderWindow } from './folder-window.ts';
import { until } from './poll.ts';
import { descendantsOf, isRunning } from './processes.ts';
import { root } from './real-vscode.ts';

const agentFolder = join(root, 'examples', 'sql-agent');

/** The product as a newcomer meets it: packed, installed, on the sample agent, with the real trainer and the real model. */
describe('training the sample agent in a real VS Code', function () {
  this.timeout(300_000);
  let folder = '';

  const { open, close, openAgain } = folderWindow('training', (made) => {
    folder = made;
    cpSync(agentFolder, join(folder, 'sql-agent'), { recursive: true, filter: (path) => !path.includes('.agent-trainer') });
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(join(root, 'node_modules', 'sql.js'), join(folder, 'node_modules', 'sql.js')); // what `npm install` would bring
    shortenTraining(join(folder, 'sql-agent', 'agent-trainer.json'));
    return {};
  });

  const trainerPid = (): number => (JSON.parse(readFileSync(join(folder, '.agent-trainer', 'server.json'), 'utf8')) as { pid: number }).pid;
  const runs = (): { kind: string; status: string }[] => {
    const file = join(folder, '.agent-trainer', 'workspace.json');
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { runs: { kind: string; status: string }[] }).runs : [];
  };

  it('a dry run of the Python agent shows its spans', async () => {
    await open().openFile('agent.py');
    const lens = open().page.locator('.editor-instance .codelens-decoration a', { hasText: 'Dry run' });
    await lens.first().click({ timeout: 60_000 });
    const frame = await open().webview('.tree', 90_000);
    await frame.locator('[role=treeitem]:not([data-kind=rollout])').nth(2).waitFor({ timeout: 90_000 });
    await frame.locator('.status-text', { hasText: 'Finished' }).waitFor({ timeout: 90_000 });
    assert.equal(await frame.locator('.count').innerText(), '10 rollouts');
    await frame.locator('[data-kind=llm]').first().click();
    await frame.locator('.message[data-role=assistant]').first().waitFor();
    await open().screenshot('real-dry-run');
  });

  it('Train Agent trains, and the curve moves with each step', async () => {
    await open().openFile('agent.ts');
    await open().command('Agent Trainer: Train Agent');
    const frame = await open().webview('figure.curve', 90_000);
    const counts: number[] = [];
    await until(async () => {
      const points = Number(await frame.locator('figure.curve').getAttribute('data-points'));
      if (points !== counts.at(-1)) counts.push(points);
      return points === 3;
    }, 240_000);
    assert.deepEqual(counts.filter((count) => count > 0), [1, 2, 3]);
    await frame.locator('.status-text', { hasText: 'Finished' }).waitFor({ timeout: 120_000 });
    await frame.locator('.fact', { hasText: 'Held-out reward' }).waitFor();
    await open().screenshot('real-training');
  });

  it('a training run goes on when the window closes, and is found again by the next', async () => {
    shortenTraining(join(folder, 'sql-agent', 'agent-trainer.json'), 200);
    await open().openFile('agent.ts');
    await open().command('Agent Trainer: Train Agent');
    const frame = await open().webview('figure.curve', 60_000);
    await frame.locator('figure.curve[data-points="1"]').waitFor({ timeout: 120_000 });
    const trainer = trainerPid();
    await open().close();
    await openAgain();
    assert.equal(trainerPid(), trainer);
    await open().page.locator('.statusbar-item', { hasText: /Training \d+\/200/ }).waitFor({ timeout: 60_000 });
  });

  it('Cancel ends a run and leaves no agent process', async () => {
    await open().command('Agent Trainer: Open Training Panel');
    const frame = await open().webview('figure.curve', 60_000);
    const trainer = trainerPid();
    await until(() => descendantsOf(trainer).length > 0);
    await frame.locator('vscode-button', { hasText: 'Stop' }).click();
    await frame.locator('.status-text', { hasText: 'Cancelled' }).waitFor({ timeout: 60_000 });
    await until(() => descendantsOf(trainer).length === 0);
    assert.equal(runs().at(0)?.status, 'cancelled');
  });

  it('closing the window ends the idle trainer', async () => {
    const trainer = trainerPid();
    assert.ok(isRunning(trainer));
    await close();
    await until(() => !isRunning(trainer), 30_000);
  });
});

/** A few steps of a few rollouts on few tasks. */
function shortenTraining(file: string, steps = 3): void {
  const config = JSON.parse(readFileSync(file, 'utf8')) as { data: object; grpo: object };
  writeFileSync(file, JSON.stringify({ ...config, data: { ...config.data, limit: 12 }, grpo: { ...config.grpo, steps, train_batch_size: 4, group_size: 4 } }));
}
