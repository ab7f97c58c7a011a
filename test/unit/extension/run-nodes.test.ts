import assert from 'node:assert/strict';
import { configNodes, detailNodes, flatten, runNode, runOf, runsOf } from '../../../src/runs/run-nodes.ts';
import type { RunEntry } from '../../../src/runs/run-book.ts';
import type { Run } from '../../../trainer/protocol/run.ts';
import { aRun, aStep } from '../../fixtures/recorded-runs.ts';

const entry = (run: Run, more: Partial<RunEntry> = {}): RunEntry => ({ run, steps: [], notices: [], rollouts: null, waiting: null, ...more });

describe('the runs view', () => {
  it('names a run by its agent, says what it is and how far', () => {
    const node = runNode('/w', entry(aRun('train'), { steps: [aStep(0), aStep(1)] }));
    assert.equal(node.label, 'sqlAgent');
    assert.match(node.description, /^training · step 2 of 12 · /);
    assert.equal(node.tooltip.split('\n').at(-1), 'ru-0a1b2c3d4e5f');
    assert.match(runNode('/w', entry(aRun('dev', { status: 'succeeded', result: { run_id: 'r', rollouts: [], mean_reward: 0.25 } }))).description, /^dry run · reward 0.250 · /);
    assert.match(runNode('/w', entry(aRun('eval', { status: 'failed', error: 'No model.' }))).tooltip, /\nFailed\nNo model\.\n/);
  });

  it('tells menus what can be done with it', () => {
    const words = (run: Run) => runNode('/w', entry(run)).context;
    assert.equal(words(aRun('train')), 'run train active');
    assert.equal(words(aRun('train', { pause: 'paused' })), 'run train active paused');
    assert.equal(words(aRun('train', { pause: 'pausing' })), 'run train active paused');
    assert.equal(words(aRun('train', { status: 'interrupted' })), 'run train ended resumable');
    assert.equal(words(aRun('train', { status: 'succeeded' })), 'run train ended');
    assert.equal(words(aRun('dev', { status: 'cancelled' })), 'run dev ended');
  });

  it('has a picture for each state', () => {
    const icon = (patch: Partial<Run>) => runNode('/w', entry(aRun('train', patch))).icon?.id;
    assert.deepEqual([icon({}), icon({ pause: 'paused' }), icon({ status: 'succeeded' }), icon({ status: 'failed' }), icon({ status: 'interrupted' })], ['sync~spin', 'debug-pause', 'pass', 'error', 'warning']);
  });

  it('lists under a run its outcome, checkpoints (newest first) and configuration', () => {
    const nodes = detailNodes('/w', entry(aRun('train', { status: 'cancelled', end_time: aRun('train').create_time + 90 }), { steps: [aStep(0)] }), [
      { step: 0, folder: '/w/c/step-000000', val_reward: 0.5, best: true }, { step: 1, folder: '/w/c/step-000001', val_reward: 0.25, best: false }, { step: 3, folder: '/w/c/step-000003', val_reward: null, best: false },
    ]);
    assert.deepEqual(nodes.map(({ label, description }) => [label, description]), [
      ['Cancelled', '1 min 30 s'], ['Step 1', 'reward 0.430 · entropy 0.61'], ['Checkpoint after step 4', 'step-000003'], ['Checkpoint after step 2', 'step-000001 · validation reward 0.250'],
      ['Checkpoint after step 1', 'step-000000 · best validation reward 0.500'], ['Configuration', ''],
    ]);
    assert.equal(nodes[2]?.path, '/w/c/step-000003');
    assert.equal(new Set(nodes.map(({ key }) => key)).size, nodes.length);
  });

  it('shows the configuration a setting a line', () => {
    assert.deepEqual(flatten({ agent: 'a', grpo: { lr: 1e-6, betas: [0.9, 0.95], agent_match: null } }), [['agent', 'a'], ['grpo.lr', '0.000001'], ['grpo.betas', '[0.9,0.95]'], ['grpo.agent_match', '–']]);
    assert.deepEqual(configNodes('/w', entry(aRun('train'))).map(({ label, description }) => [label, description]), [['grpo.steps', '12']]);
  });

  it('finds the run a command was called on, by the line or by its click', () => {
    const node = runNode('/w', entry(aRun('train')));
    assert.deepEqual([runOf(node)?.run_id, runOf(node.run)?.run_id, runOf(undefined), runOf(configNodes('/w', entry(aRun('train')))[0])], ['ru-0a1b2c3d4e5f', 'ru-0a1b2c3d4e5f', null, null]);
    assert.deepEqual(runsOf([node, node]).length, 2);
    assert.deepEqual(runsOf(undefined), []);
  });
});
