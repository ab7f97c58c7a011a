import assert from 'node:assert/strict';
import { groupAdvantages, whiten, type Estimation } from '../../../trainer/algorithms/advantages.ts';

const grpo: Estimation = { adv_estimator: 'grpo', scale_rewards: 'group' };
const values = (rewards: number[], estimation: Partial<Estimation>) => {
  const result = groupAdvantages(rewards, { ...grpo, ...estimation });
  assert.equal(result.kind, 'advantages');
  return result.kind === 'advantages' ? result.values : [];
};
const close = (actual: number[], expected: number[], tolerance: number) => {
  assert.equal(actual.length, expected.length);
  actual.forEach((value, i) => assert.ok(Math.abs(value - expected[i]!) <= tolerance, `${actual} is not ${expected}`));
};

describe('group advantages', () => {
  it('GRPO divides by the sample standard deviation', () => {
    close(values([1, 0, 0, 0], {}), [1.499997, -0.499999, -0.499999, -0.499999], 1e-6);
  });

  it('Dr. GRPO only centres', () => {
    close(values([1, 0, 0, 0], { scale_rewards: 'none' }), [0.75, -0.25, -0.25, -0.25], 0);
  });

  it('RLOO compares with the mean of the others', () => {
    close(values([1, 0, 0, 0], { adv_estimator: 'rloo' }), [1, -1 / 3, -1 / 3, -1 / 3], 1e-15);
    const rewards = [0.3, 0.9, 0.5];
    close(values(rewards, { adv_estimator: 'rloo' }), [0.3 - (0.9 + 0.5) / 2, 0.9 - (0.3 + 0.5) / 2, 0.5 - (0.3 + 0.9) / 2], 1e-15);
  });

  it('the REINFORCE++ baseline only centres, whatever scale_rewards says', () => {
    close(values([1, 0, 0, 0], { adv_estimator: 'reinforce_plus_plus_baseline' }), [0.75, -0.25, -0.25, -0.25], 0);
  });

  it('two rollouts', () => {
    close(values([1, 0], {}), [0.70711, -0.70711], 1e-5);
  });

  it('a group without variance has no advantage, also when its mean is not exact', () => {
    for (const reward of [1, 0, 0.1, 1 / 3]) {
      assert.deepEqual(groupAdvantages([reward, reward, reward], grpo), { kind: 'skipped', reason: 'group without variance' });
    }
  });

  it('a group of one or none is not trained', () => {
    assert.deepEqual(groupAdvantages([1], grpo), { kind: 'skipped', reason: 'group of one' });
    assert.deepEqual(groupAdvantages([], grpo), { kind: 'skipped', reason: 'group of one' });
  });
});

describe('whitening', () => {
  it('brings all tokens together to mean 0 and sample variance 1', () => {
    // Tokens 1, 1, 0, 0, 0: mean 0.4, squares 2·0.36 + 3·0.16 = 1.2, variance 1.2 / 4 = 0.3, deviation 0.547723.
    const white = whiten([[1, 1], [0, 0, 0]])!;
    close(white.flat(), [1.095445, 1.095445, -0.730297, -0.730297, -0.730297], 1e-6);
  });

  it('does nothing when nothing differs', () => {
    assert.equal(whiten([[0.1, 0.1], [0.1]]), null);
    assert.equal(whiten([[], []]), null);
  });
});
