import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { aRun, aStep } from '../fixtures/recorded-runs.ts';
import { ReplayTrainer } from '../fixtures/replay-trainer.ts';
import { folderWindow } from './folder-window.ts';

/** Folders, and the agent in each. */
const agents = { shop: 'sell', support: 'help' } as const;
type Name = keyof typeof agents;
const names = Object.keys(agents) as Name[];

/** Each folder with its own configuration, agent and trainer, in which a training run is active. */
describe('a workspace of two folders in a real VS Code', function () {
  this.timeout(300_000);
  let root = '';
  const trainers = new Map<Name, ReplayTrainer>();

  const { open } = folderWindow('folders', async (made) => {
    root = made;
    writeFileSync(join(root, 'both.code-workspace'), JSON.stringify({ folders: names.map((path) => ({ path })) }));
    for (const [index, name] of names.entries()) {
      mkdirSync(join(root, name));
      writeFileSync(join(root, name, 'agent-trainer.json'), JSON.stringify({ agent: `agent.py:${agents[name]}`, data: { train: 'tasks.jsonl' }, model: { path: 'policy' } }));
      writeFileSync(join(root, name, 'tasks.jsonl'), '{"question": "2+2"}\n');
      writeFileSync(join(root, name, 'agent.py'), `from agent_trainer import rollout\n\n@rollout\ndef ${agents[name]}(task, llm):\n    return 1.0\n`);
      const trainer = await ReplayTrainer.start(join(root, name));
      const run = aRun('train', { run_id: `ru-00000000000${index + 1}`, agent: `agent.py:${agents[name]}`, create_time: Date.now() / 1000 - 60 });
      trainer.runs.set(run.run_id, run);
      trainer.steps.set(run.run_id, Array.from({ length: index + 2 }, (_, step) => aStep(step)));
      trainers.set(name, trainer);
    }
    return { workspaceFile: join(root, 'both.code-workspace'), close: async () => { for (const trainer of trainers.values()) await trainer.close(); } };
  });

  const trainerOf = (name: Name): ReplayTrainer => trainers.get(name) ?? assert.fail(name);
  const row = (tree: 'Agents' | 'Runs', label: string): Locator => open().page.locator(`[role=tree][aria-label="${tree}"] .monaco-list-row`).filter({ has: open().page.locator('.label-name', { hasText: new RegExp(`^${label}$`) }) });
  const asked = (name: Name, method: string): unknown[] => trainerOf(name).requests.filter((request) => request.method === method).map(({ params }) => params);

  it('lists the runs of both', async () => {
    await open().page.locator('.activitybar .action-label[aria-label="Agent Trainer"]').click();
    for (const name of names) {
      await row('Runs', name).click({ timeout: 60_000 });
      await row('Runs', agents[name]).waitFor();
    }
  });

  for (const [index, name] of names.entries()) {
    it(`shows the run of ${name} with the steps that its own trainer knows`, async () => {
      await row('Runs', agents[name]).click();
      const page = await open().webview('.run-header');
      await page.locator('h1', { hasText: `Training of agent.py:${agents[name]}` }).waitFor();
      await page.locator(`[data-chart=reward][data-points="${index + 2}"]`).waitFor();
    });
  }

  it('stops the run of one folder by that folder’s trainer alone', async () => {
    await open().rowAction(row('Runs', 'sell'), 'Stop', () => asked('shop', 'runs.cancel').length > 0);
    assert.deepEqual(asked('shop', 'runs.cancel'), [{ run_id: 'ru-000000000001' }]);
    assert.deepEqual(asked('support', 'runs.cancel'), []);
  });

  it('trains an agent by the configuration of its own folder', async () => {
    trainerOf('support').onStart = () => aRun('train', { agent: 'agent.py:help', create_time: Date.now() / 1000 });
    await open().rowAction(row('Agents', 'help'), 'Train', () => asked('support', 'runs.start').length > 0);
    assert.deepEqual(asked('support', 'runs.start'), [{ kind: 'train', config_path: join(root, 'support', 'agent-trainer.json'), overrides: { agent: 'agent.py:help' } }]);
    assert.deepEqual(asked('shop', 'runs.start'), []);
    await open().screenshot('two-folders');
  });
});
