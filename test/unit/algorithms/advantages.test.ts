import assert from 'node:assert/strict';
import { groupAdvantages } from '../../../trainer/algorithms/advantages.ts';

const values = (rewards: number[], scale: 'group' | 'none') => {
  const result = groupAdvantages(rewards, scale);
  assert.equal(result.kind, 'advantages');
  return result.kind === 'advantages' ? result.values : [];
};
const close = (actual: number[], expected: number[], tolerance: number) => {
  assert.equal(actual.length, expected.length);
  actual.forEach((value, i) => assert.ok(Math.abs(value - expected[i]!) <= tolerance, `${actual} is not ${expected}`));
};

describe('group advantages', () => {
  it('GRPO divides by the sample standard deviation', () => {
    close(values([1, 0, 0, 0], 'group'), [1.499997, -0.499999, -0.499999, -0.499999], 1e-6);
  });

  it('Dr. GRPO only centres', () => {
    close(values([1, 0, 0, 0], 'none'), [0.75, -0.25, -0.25, -0.25], 0);
  });

  it('two rollouts', () => {
    close(values([1, 0], 'group'), [0.70711, -0.70711], 1e-5);
  });

  it('a group without variance has no advantage, also when its mean is not exact', () => {
    for (const reward of [1, 0, 0.1, 1 / 3]) {
      assert.deepEqual(groupAdvantages([reward, reward, reward], 'group'), { kind: 'skipped', reason: 'group without variance' });
    }
  });

  it('a group of one or none is not trained', () => {
    assert.deepEqual(groupAdvantages([1], 'group'), { kind: 'skipped', reason: 'group of one' });
    assert.deepEqual(groupAdvantages([], 'none'), { kind: 'skipped', reason: 'group of one' });
  });
});
