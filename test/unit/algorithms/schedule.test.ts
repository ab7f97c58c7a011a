import assert from 'node:assert/strict';
import fc from 'fast-check';
import { tasksOfStep } from '../../../trainer/algorithms/batches.ts';
import { learningRate } from '../../../trainer/algorithms/schedule.ts';
import { deriveSeed } from '../../../trainer/algorithms/seeds.ts';

describe('batches', () => {
  it('an epoch uses every task at most once and no batch has a task twice', () => {
    fc.assert(fc.property(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 70 }), fc.integer(), (tasks, size, seed) => {
      const batch = Math.min(tasks, size);
      const steps = Math.floor(tasks / batch);
      const epoch = Array.from({ length: steps }, (_, step) => tasksOfStep(step, tasks, size, seed));
      assert.ok(epoch.every((each) => each.length === batch));
      assert.equal(new Set(epoch.flat()).size, steps * batch);
      assert.ok(epoch.flat().every((position) => position >= 0 && position < tasks));
    }));
  });

  it('epochs differ, steps repeat', () => {
    assert.notDeepEqual(tasksOfStep(0, 64, 64, 1), tasksOfStep(1, 64, 64, 1));
    assert.deepEqual(tasksOfStep(7, 64, 16, 1), tasksOfStep(7, 64, 16, 1));
    assert.notDeepEqual(tasksOfStep(7, 64, 16, 1), tasksOfStep(7, 64, 16, 2));
  });
});

describe('learning rate', () => {
  const at = (lr_schedule: 'constant' | 'linear' | 'cosine', warmup_steps = 0) => [0, 1, 2, 3].map((step) => learningRate(step, { lr: 1, lr_schedule, warmup_steps, steps: 4 }));

  it('constant, linear, cosine', () => {
    assert.deepEqual(at('constant'), [1, 1, 1, 1]);
    assert.deepEqual(at('linear'), [1, 0.75, 0.5, 0.25]);
    at('cosine').forEach((lr, i) => assert.ok(Math.abs(lr - [1, 0.8535534, 0.5, 0.1464466][i]!) < 1e-7));
  });

  it('warms up to the full rate', () => {
    assert.deepEqual(at('constant', 3), [0.25, 0.5, 0.75, 1]);
    assert.deepEqual(at('linear', 2), [1 / 3, 2 / 3, 1, 0.5]);
  });
});

describe('seeds', () => {
  it('depend on every part and on their borders', () => {
    const seeds = [deriveSeed(1, 2, 'a', 3), deriveSeed(1, 2, 'a', 4), deriveSeed(1, 3, 'a', 3), deriveSeed(2, 2, 'a', 3), deriveSeed(1, 2, 'b', 3), deriveSeed(12, 'a', 3), deriveSeed('1', 2, 'a', 3)];
    assert.equal(new Set(seeds).size, seeds.length);
  });

  it('are 31 bits and spread evenly', () => {
    const seeds = Array.from({ length: 4096 }, (_, i) => deriveSeed(0, 5, 'task', i));
    assert.ok(seeds.every((seed) => Number.isInteger(seed) && seed >= 0 && seed < 2 ** 31));
    const sixteenths = new Array<number>(16).fill(0);
    for (const seed of seeds) sixteenths[seed >>> 27]! += 1;
    assert.ok(sixteenths.every((count) => count > 190 && count < 330), String(sixteenths)); // 256 ± 4.7 sd
    assert.equal(new Set(seeds).size, 4096);
  });
});
