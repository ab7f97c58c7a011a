import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { bestStep, Checkpoints } from '../../../trainer/algorithms/checkpoints.ts';
import { TrainerError } from '../../../trainer/protocol/errors.ts';
import type { Policy } from '../../../trainer/protocol/policy.ts';

describe('checkpoints', () => {
  let folder: string;
  beforeEach(() => { folder = mkdtempSync(path.join(tmpdir(), 'checkpoints-')); });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const policy = { save: async (target: string, options: { resumable: boolean }) => { assert.ok(options.resumable); mkdirSync(target); } } as Policy;

  it('keeps the newest and finds the latest', async () => {
    const checkpoints = new Checkpoints(path.join(folder, 'deep', 'checkpoints'), 2);
    assert.equal(checkpoints.latest(), null);
    for (const step of [0, 1, 9, 10]) await checkpoints.save(policy, step);
    assert.equal(checkpoints.latest()?.step, 10);
    assert.deepEqual(readdirSync(path.join(folder, 'deep', 'checkpoints')).sort(), ['step-000009', 'step-000010']);
  });

  it('finds those of runs with more than a million steps', async () => {
    const checkpoints = new Checkpoints(folder, 2);
    for (const step of [999_998, 999_999, 1_000_000, 1_000_001]) await checkpoints.save(policy, step);
    assert.equal(checkpoints.latest()?.step, 1_000_001);
    assert.deepEqual(readdirSync(folder).sort(), ['step-1000000', 'step-1000001']);
  });

  it('keeps the best as well, however old it is', async () => {
    const checkpoints = new Checkpoints(folder, 1);
    for (const [step, best] of [[0, 0], [1, 1], [2, 1], [3, 1]] as const) await checkpoints.save(policy, step, best);
    assert.deepEqual(readdirSync(folder).sort(), ['step-000001', 'step-000003']);
    await checkpoints.save(policy, 4, 4);
    assert.deepEqual(readdirSync(folder), ['step-000004']);
  });

  it('the best step is the earliest of those with the highest validated reward', () => {
    const steps = (...rewards: (number | null)[]) => rewards.map((val_reward, step) => ({ step, val_reward }));
    assert.equal(bestStep([]), null);
    assert.equal(bestStep(steps(null, null)), null);
    assert.equal(bestStep(steps(null, -1, null, -2)), 1);
    assert.equal(bestStep(steps(0.1, 0.7, 0.7, null, 0.2)), 1);
  });

  it('does not take a half-written folder for a checkpoint', () => {
    mkdirSync(path.join(folder, 'step-000003'));
    mkdirSync(path.join(folder, 'step-000004.tmp-1234'));
    mkdirSync(path.join(folder, '.step-000005'));
    assert.deepEqual(new Checkpoints(folder, 2).latest(), { step: 3, folder: path.join(folder, 'step-000003') });
  });

  it('goes back to an earlier one when the last is damaged, keeps that aside, and can save the step again', async () => {
    for (const name of ['step-000003', 'step-000004', 'step-000005.tmp-1234']) mkdirSync(path.join(folder, name));
    const checkpoints = new Checkpoints(folder, 3);
    const restorable = { ...policy, restore: async (from: string) => { if (from.endsWith('4')) throw new TrainerError('bad_input', 'cut off'); } };
    const told: string[] = [];
    assert.equal(await checkpoints.restore(restorable, (message) => told.push(message)), 3);
    assert.match(told.join(), /^The checkpoint of step 5 is damaged .*step-000004\.damaged: cut off$/);
    await checkpoints.save(restorable, 4);
    assert.deepEqual(readdirSync(folder).sort(), ['step-000003', 'step-000004', 'step-000004.damaged']);
  });

  it('a policy that fails for another reason does not cost checkpoints', async () => {
    mkdirSync(path.join(folder, 'step-000003'));
    const failing = { ...policy, restore: () => Promise.reject(new TrainerError('environment', 'no memory')) };
    await assert.rejects(new Checkpoints(folder, 2).restore(failing, () => assert.fail()), /no memory/);
    assert.deepEqual(readdirSync(folder), ['step-000003']);
  });
});
