import assert from 'node:assert/strict';
import { largest } from '../../../trainer/policy/largest.ts';
import { uniforms } from '../../../trainer/policy/random.ts';

describe('the largest logits', () => {
  it('are those of a full sort with ties to the lower id, for any count', () => {
    const uniform = uniforms(5);
    for (let round = 0; round < 300; round++) {
      const length = 1 + Math.floor(uniform() * 400);
      // In every third round few different values, zeros of both signs among them.
      const values = Float32Array.from({ length }, () => (round % 3 === 0 ? Math.round(uniform() * 6 - 3) * (uniform() < 0.5 ? 1 : -1) : (uniform() - 0.5) * 10));
      if (round % 5 === 0) values[round % length] = -Infinity;
      const sorted = Array.from(values.keys()).sort((a, b) => values[b]! - values[a]! || a - b);
      for (const count of [1, 1 + Math.floor(uniform() * length), length]) assert.deepEqual(largest(values, count), sorted.slice(0, count));
    }
  });
});
