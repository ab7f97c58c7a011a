import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agentReference, nearestConfig, newConfig } from '../../../src/runs/config-file.ts';
import { trainingData } from '../../../src/runs/training-data.ts';
import { WorkspaceState } from '../../../src/state/workspace-state.ts';
import { TrainConfig } from '../../../trainer/protocol/config.ts';
import { TrainerError } from '../../../trainer/protocol/errors.ts';
import { aRun } from '../../fixtures/recorded-runs.ts';

describe('the workspace state', () => {
  let folder = '';
  beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'agent-trainer-state-')); });
  afterEach(() => { rmSync(folder, { recursive: true }); });
  const fail = (message: string): void => { assert.fail(message); };

  it('is there again after a restart', async () => {
    const state = await WorkspaceState.open(folder, fail);
    await state.rememberAgents(['a.py:solve']);
    await state.rememberDryRun('a.py:solve', { data: '/d.jsonl' });
    await state.rememberRun(aRun('dev'));
    await state.rememberRun(aRun('dev', { status: 'succeeded' }));
    const again = await WorkspaceState.open(folder, fail);
    assert.deepEqual([again.agents, again.lastDryRun('a.py:solve'), again.runs.map((run) => run.status)], [['a.py:solve'], { data: '/d.jsonl' }, ['succeeded']]);
  });

  for (const [what, text] of [['broken JSON', '{"agents": ['], ['another shape', '{"agents": 3}']] as const) {
    it(`sets a file of ${what} aside, and says so`, async () => {
      mkdirSync(join(folder, '.agent-trainer'));
      writeFileSync(join(folder, '.agent-trainer', 'workspace.json'), text);
      const warnings: string[] = [];
      const state = await WorkspaceState.open(folder, (message) => { warnings.push(message); });
      assert.deepEqual(state.agents, []);
      assert.match(warnings.join(), /workspace\.json could not be read and was set aside/);
      assert.equal(readFileSync(join(folder, '.agent-trainer', 'workspace.json.bad'), 'utf8'), text);
    });
  }

  it('of a folder that cannot be written can be read, and says so when something is to be noted', async () => {
    writeFileSync(join(folder, '.agent-trainer'), ''); // a file where the folder would be
    const state = await WorkspaceState.open(folder, () => {});
    assert.deepEqual([state.agents, state.lastDryRun('a.py:solve')], [[], undefined]);
    await assert.rejects(state.rememberAgents(['a.py:solve']), (error) => error instanceof TrainerError && error.code === 'environment' && /workspace\.json cannot be written: .*make it writable/.test(error.message));
  });

  it('writes nothing when nothing has changed', async () => {
    const state = await WorkspaceState.open(folder, fail);
    await state.rememberAgents([]);
    assert.equal(existsSync(join(folder, '.agent-trainer', 'workspace.json')), false);
  });
});

describe('the configuration file', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'agent-trainer-config-'));
    mkdirSync(join(folder, 'a', 'b'), { recursive: true });
  });
  afterEach(() => { rmSync(folder, { recursive: true }); });

  it('is the nearest one above the agent, within the workspace', () => {
    const agent = join(folder, 'a', 'b', 'agent.py');
    assert.equal(nearestConfig(agent, folder), null);
    writeFileSync(join(folder, 'agent-trainer.json'), '{}');
    assert.equal(nearestConfig(agent, folder), join(folder, 'agent-trainer.json'));
    assert.equal(nearestConfig(agent, join(folder, 'a')), null);
    writeFileSync(join(folder, 'a', 'agent-trainer.json'), '{}');
    assert.equal(nearestConfig(agent, folder), join(folder, 'a', 'agent-trainer.json'));
  });

  it('tells where its tasks are, if it is one', async () => {
    const file = join(folder, 'a', 'agent-trainer.json');
    writeFileSync(file, '{"data": {"train": "../tasks.jsonl"}}');
    assert.equal(await trainingData(file), join(folder, 'tasks.jsonl'));
    writeFileSync(file, '{"data": ');
    assert.equal(await trainingData(file), null);
  });

  it('is one that the trainer accepts when it is new', () => {
    assert.equal(agentReference(join(folder, 'a', 'agent.py'), 'solve', folder), 'a/agent.py:solve');
    assert.equal(TrainConfig.parse(JSON.parse(newConfig('agent.py:solve', 'tasks.jsonl', { path: 'model' }))).grpo.steps, 30);
  });
});
