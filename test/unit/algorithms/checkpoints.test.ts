import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Checkpoints } from '../../../trainer/algorithms/checkpoints.ts';
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

  it('does not take a half-written folder for a checkpoint', () => {
    mkdirSync(path.join(folder, 'step-000003'));
    mkdirSync(path.join(folder, 'step-000004.tmp-1234'));
    mkdirSync(path.join(folder, '.step-000005'));
    assert.deepEqual(new Checkpoints(folder, 2).latest(), { step: 3, folder: path.join(folder, 'step-000003') });
  });
});
