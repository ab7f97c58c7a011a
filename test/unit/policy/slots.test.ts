import assert from 'node:assert/strict';
import { benchShapes } from '../../../bench/fixtures/bench-models.ts';
import { slotsFor } from '../../../trainer/policy/policy-host.ts';

const GiB = 2 ** 30;

describe('answers at a time', () => {
  it('a group of eight is sampled in one wave on a machine of 16 GiB, whatever the model', () => {
    for (const [size, config] of Object.entries(benchShapes)) assert.ok(slotsFor(config, 16 * GiB) >= 8, size);
  });

  it('are at most 32, and at least one however little memory there is', () => {
    assert.equal(slotsFor(benchShapes['5m'], 1024 * GiB), 32);
    assert.equal(slotsFor({ ...benchShapes['0.5b'], kvHeads: 64 }, GiB), 1);
  });
});
