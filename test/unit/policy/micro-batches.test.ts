import assert from 'node:assert/strict';
import fc from 'fast-check';
import { decoderConfig, type DecoderConfig } from '../../../trainer/models/decoder-config.ts';
import { costOf, lengthBucket } from '../../../trainer/policy/layout.ts';
import { smallConfig } from '../models/small-model.ts';
import { microBatches, type MicroBatch, type TokenRow } from '../../../trainer/policy/micro-batches.ts';

const wide = decoderConfig('llama', { vocab: 4096, hidden: 576, intermediate: 1536, layers: 30, heads: 9, kvHeads: 3, headDim: 64, contextLength: 2048 });

describe('micro-batches', () => {
  const eos = 0; // also what padding is filled with

  it('train a sampled end of sequence although padding has the same id', () => {
    const [batch] = microBatches([{ tokens: [5, 6, 7, eos], mask: [0, 0, 1, 1], temperature: 1 }], 64, smallConfig);
    assert.deepEqual(batch!.origins, [{ row: 0, at: 2 }, { row: 0, at: 3 }]);
    assert.deepEqual([...batch!.target.slice(0, 2)], [7, eos]);
    assert.deepEqual([...batch!.position.slice(0, 2)], [1, 2]);
    assert.deepEqual([...batch!.tokens.slice(0, 4)], [5, 6, 7, 0]);
  });

  it('divide by the temperature of the row; greedy rows count at temperature 1', () => {
    const row = (temperature: number): TokenRow => ({ tokens: [1, 2], mask: [0, 1], temperature });
    const [batch] = microBatches([row(0.5), row(2), row(0)], 1024, smallConfig);
    assert.deepEqual([...batch!.inverseTemperature.slice(0, 3)], [2, 0.5, 1]);
  });

  it('leave out rows with nothing to train', () => {
    assert.deepEqual(microBatches([{ tokens: [1, 2], mask: [0, 0], temperature: 1 }], 64, smallConfig), []);
  });

  const letters = fc.integer({ min: 1, max: 3 }); // few, so that rows begin alike
  const rowLists = fc.array(fc.oneof(
    fc.array(fc.record({ id: letters, trained: fc.boolean() }), { minLength: 1, maxLength: 12 }),
    fc.array(fc.record({ id: fc.nat(50), trained: fc.boolean() }), { minLength: 1, maxLength: 200 }),
  ), { maxLength: 40 });
  /** Of several groups on one prompt each, some answers equal or the beginning of others. */
  const groups = fc.array(fc.tuple(fc.array(letters, { minLength: 1, maxLength: 90 }), fc.array(fc.array(letters, { minLength: 1, maxLength: 40 }), { minLength: 1, maxLength: 8 })), { maxLength: 5 })
    .map((list) => list.flatMap(([prompt, answers]) => answers.map((answer) => [...prompt.map((id) => ({ id, trained: false })), ...answer.map((id) => ({ id, trained: true }))])));

  it('hold every trained token exactly once, after exactly the tokens before it, within the budget', () => {
    fc.assert(fc.property(fc.oneof(rowLists, groups), fc.integer({ min: 64, max: 4096 }), (tokenLists, budget) => {
      const all = tokenLists.map((list): TokenRow => ({ tokens: list.map(({ id }) => id), mask: list.map(({ trained }, i) => (trained && i > 0 ? 1 : 0)), temperature: 1 }));
      const seen = new Set<string>();
      for (const { shape: { batch, length, trained }, tokens, positionIds, subtreeEnd, position, target, sequence, origins } of microBatches(all, budget, smallConfig)) {
        assert.ok(batch * length <= Math.max(budget, length));
        for (const list of [tokens, positionIds, subtreeEnd]) assert.equal(list.length, batch * length);
        for (const list of [position, target, sequence]) assert.equal(list.length, trained);
        assert.ok(origins.length <= trained);
        const rowOf = new Map<number, number>();
        origins.forEach(({ row, at }, n) => {
          assert.ok(!seen.has(`${row} ${at}`));
          seen.add(`${row} ${at}`);
          assert.equal(target[n], all[row]!.tokens[at]);
          const start = Math.floor(position[n]! / length) * length;
          const i = position[n]! - start;
          const visible = Array.from({ length: i + 1 }, (_, j) => start + j).filter((j) => i < subtreeEnd[j]!);
          assert.deepEqual(visible.map((j) => tokens[j]), Array.from(all[row]!.tokens).slice(0, at));
          assert.deepEqual(visible.map((j) => positionIds[j]), visible.map((_, place) => place));
          assert.equal(rowOf.get(sequence[n]!) ?? row, row); // a sequence is of one row, and a row of one sequence
          rowOf.set(sequence[n]!, row);
        });
        assert.equal(new Set(rowOf.values()).size, rowOf.size);
      }
      assert.equal(seen.size, all.reduce((sum, { mask }) => sum + Array.from(mask).filter(Boolean).length, 0));
    }), { numRuns: 200 });
  });

  it('are the same whenever they are made, and never more work than rows apart', () => {
    fc.assert(fc.property(fc.oneof(rowLists, groups), fc.integer({ min: 64, max: 4096 }), (tokenLists, budget) => {
      const all = tokenLists.map((list): TokenRow => ({ tokens: list.map(({ id }) => id), mask: list.map((_, i) => Number(i > 0)), temperature: 1 }));
      for (const config of [smallConfig, wide]) {
        const made = microBatches(all, budget, config);
        assert.deepEqual(microBatches(all, budget, config), made);
        const work = (shapes: { batch: number; length: number }[]) => costOf(shapes.map((shape) => ({ ...shape, packed: [] })), config);
        const padded = work(apart(all.map(({ tokens }) => tokens.length).filter((length) => length > 1), budget, config));
        assert.ok(work(made.map(({ shape }) => shape)) <= padded + 1e-9);
      }
    }), { numRuns: 100 });
  });

  it('compute the common prompt of a group once, and each part of it that its answers share', () => {
    const prompt = Array.from({ length: 72 }, (_, i) => i + 1);
    const answers = Array.from({ length: 8 }, (_, a) => Array.from({ length: 64 }, (_, i) => 100 + a * 64 + i));
    const rows = (lists: number[][]) => lists.map((answer): TokenRow => ({ tokens: [...prompt, ...answer], mask: [...prompt.map(() => 0), ...answer.map(() => 1)], temperature: 1 }));
    const used = (batches: MicroBatch[]) => batches.reduce((sum, { tokens }) => sum + tokens.filter((id) => id > 0).length, 0);
    const one = microBatches(rows(answers), 2048, wide);
    assert.deepEqual(one.map(({ shape }) => [shape.batch, shape.length]), [[1, 576]]);
    assert.equal(used(one), 72 + 8 * 63); // the last token of an answer is predicted only
    const equal = microBatches(rows([answers[0]!, answers[0]!, answers[0]!]), 2048, wide);
    assert.deepEqual(equal.map(({ shape }) => shape), [{ batch: 1, length: 160, trained: 192 }]);
    assert.equal(new Set(equal[0]!.position.subarray(0, 192)).size, 64);
  });

  it('use few lengths', () => {
    for (const [config, most, padding] of [[smallConfig, 16, 1.25], [wide, 24, 1.125]] as const) {
      const lengths = new Set(Array.from({ length: 1024 }, (_, i) => lengthBucket(i + 1, config)));
      assert.ok([...lengths].every((length) => length % 32 === 0));
      assert.ok(lengths.size <= most, String(lengths.size));
      for (let n = 1; n <= 4096; n++) assert.ok(lengthBucket(n, config) >= n && lengthBucket(n, config) <= Math.max(n + 31, n * padding));
    }
  });
});

/** Rows in micro-batches that hold one of them in a row, sorted by length. */
function apart(lengths: number[], budget: number, config: DecoderConfig): { batch: number; length: number }[] {
  lengths.sort((a, b) => b - a);
  const shapes: { batch: number; length: number }[] = [];
  for (let start = 0; start < lengths.length;) {
    const length = lengthBucket(lengths[start]!, config);
    const capacity = Math.max(1, Math.floor(budget / length));
    const count = Math.min(capacity, lengths.length - start);
    shapes.push({ batch: Math.min(capacity, 2 ** Math.ceil(Math.log2(count))), length });
    start += count;
  }
  return shapes;
}
