import assert from 'node:assert/strict';
import fc from 'fast-check';
import { lengthBucket, microBatches, type TokenRow } from '../../../trainer/policy/micro-batches.ts';

describe('micro-batches', () => {
  const eos = 0; // also what padding is filled with

  it('train a sampled end of sequence although padding has the same id', () => {
    const [batch] = microBatches([{ tokens: [5, 6, 7, eos], mask: [0, 0, 1, 1], temperature: 1 }], 64);
    assert.deepEqual(batch!.origins, [{ row: 0, at: 2 }, { row: 0, at: 3 }]);
    assert.deepEqual([...batch!.target.slice(0, 2)], [7, eos]);
    assert.deepEqual([...batch!.position.slice(0, 2)], [1, 2]);
  });

  it('divide by the temperature of the row; greedy rows count at temperature 1', () => {
    const row = (temperature: number): TokenRow => ({ tokens: [1, 2], mask: [0, 1], temperature });
    const [batch] = microBatches([row(0.5), row(2), row(0)], 1024);
    assert.deepEqual([...batch!.inverseTemperature.slice(0, 3)], [2, 0.5, 1]);
  });

  it('leave out rows with nothing to train', () => {
    assert.deepEqual(microBatches([{ tokens: [1, 2], mask: [0, 0], temperature: 1 }], 64), []);
  });

  it('hold every trained token exactly once, within the budget', () => {
    const rows = fc.array(fc.array(fc.record({ id: fc.nat(50), trained: fc.boolean() }), { minLength: 1, maxLength: 200 }), { maxLength: 40 });
    fc.assert(fc.property(rows, fc.integer({ min: 64, max: 4096 }), (tokenLists, budget) => {
      const all = tokenLists.map((list): TokenRow => ({ tokens: list.map(({ id }) => id), mask: list.map(({ trained }, i) => (trained && i > 0 ? 1 : 0)), temperature: 1 }));
      const seen = new Set<string>();
      for (const { shape, tokens, position, target, origins } of microBatches(all, budget)) {
        assert.ok(shape.batch * shape.length <= Math.max(budget, shape.length));
        assert.equal(tokens.length, shape.batch * shape.length);
        assert.ok(origins.length <= shape.trained && target.length === shape.trained);
        origins.forEach(({ row, at }, n) => {
          seen.add(`${row} ${at}`);
          assert.equal(target[n], all[row]!.tokens[at]);
          const start = Math.floor(position[n]! / shape.length) * shape.length;
          assert.equal(position[n]! - start, at - 1);
          assert.deepEqual([...tokens.slice(start, start + at + 1)], Array.from(all[row]!.tokens).slice(0, at + 1));
        });
      }
      assert.equal(seen.size, all.reduce((sum, { mask }) => sum + Array.from(mask).filter(Boolean).length, 0));
    }), { numRuns: 60 });
  });

  it('use few lengths', () => {
    const lengths = new Set(Array.from({ length: 1024 }, (_, i) => lengthBucket(i + 1)));
    assert.ok([...lengths].every((length) => length % 32 === 0));
    assert.ok(lengths.size <= 16, String(lengths.size));
    for (let n = 1; n <= 4096; n++) assert.ok(lengthBucket(n) >= n && lengthBucket(n) <= Math.max(n + 31, n * 1.25));
  });
});
