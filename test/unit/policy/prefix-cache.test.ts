import assert from 'node:assert/strict';
import { PrefixCache, type Block } from '../../../trainer/policy/prefix-cache.ts';
import { uniforms } from '../../../trainer/policy/random.ts';

const block = 40; // bytes: ten numbers
const data = (tokens: readonly number[]) => new Float32Array(10).fill(tokens[0]!);

describe('prefix cache', () => {
  it('finds what was added after the same text, never more bytes than allowed, nothing without its parents', () => {
    const uniform = uniforms(3);
    const below = (n: number) => Math.floor(uniform() * n);
    for (const capacity of [0, block, 5 * block, 30 * block]) {
      const cache = new PrefixCache(capacity);
      for (let i = 0; i < 400; i++) {
        const path = Array.from({ length: 1 + below(4) }, () => [below(3)]);
        let parent: Block | null = null;
        for (const tokens of path) {
          const found = cache.find(parent, tokens);
          if (found) assert.deepEqual([found.data[0], found.parent], [tokens[0], parent]);
          const kept: Block | null = found ?? cache.add(parent, tokens, data(tokens), null);
          assert.ok(cache.bytes <= capacity);
          if (!kept) break;
          for (let at: Block | null = kept; at; at = at.parent) assert.equal(cache.find(at.parent, [at.data[0]!]), at);
          parent = kept;
        }
      }
      assert.equal(cache.bytes, capacity > 2 * block ? capacity : cache.bytes);
    }
  });

  it('drops what was unused for longest, and keeps nothing after a block that is gone', () => {
    const cache = new PrefixCache(3 * block);
    const [a, b] = [[1], [2]].map((tokens) => cache.add(null, tokens, data(tokens), null)!);
    cache.add(a!, [3], data([3]), null);
    cache.find(a!, [3]);
    cache.add(null, [4], data([4]), null);
    assert.equal(cache.find(null, [2]), undefined);
    assert.equal(cache.add(b!, [5], data([5]), null), null);
    assert.ok(cache.find(cache.find(null, [1])!, [3]));
  });

  it('takes logits for a block it has, and keeps what follows it', () => {
    const cache = new PrefixCache(1000);
    const first = cache.add(null, [1], data([1]), null)!;
    cache.add(first, [2], data([2]), null);
    const ended = cache.add(null, [1], data([1]), Float32Array.of(7))!;
    assert.equal(cache.find(null, [1])!.logits![0], 7);
    assert.ok(cache.find(ended, [2]));
    assert.equal(cache.bytes, 2 * block + 4);
  });
});
