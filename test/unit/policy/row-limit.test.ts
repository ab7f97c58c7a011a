import assert from 'node:assert/strict';
import { decoderConfig } from '../../../trainer/models/decoder-config.ts';
import { longestFitting } from '../../../trainer/policy/row-limit.ts';

describe('the longest row that fits', () => {
  const config = decoderConfig('llama', { vocab: 4096, hidden: 256, intermediate: 704, layers: 5, heads: 8, kvHeads: 2, headDim: 32, contextLength: 4096 });
  const rows = [1, 2, 4].map((times) => longestFitting(config, times * 256 * 2 ** 20, 4096, true));

  it('grows with the memory, more slowly where attention is what takes it', () => {
    const [one, two, four] = rows as [number, number, number];
    assert.ok(one > 64 && two > one && four > two && four < 4096, rows.join());
    assert.ok(four / two < 2 && two / one < 4, rows.join());
  });

  it('is longer with LoRA, whose matrices have no gradients, shorter than what did not fit, and none where not even a short one fits', () => {
    const sizes = Array.from({ length: 16 }, (_, i) => (128 + 24 * i) * 2 ** 20); // lengths are rounded up in steps
    const within = (lora: boolean) => sizes.map((bytes) => longestFitting(config, bytes, 4096, lora));
    const [whole, factors] = [within(false), within(true)];
    assert.ok(whole.every((length, i) => length <= factors[i]!) && whole.some((length, i) => length < factors[i]!), `${whole.join()} and ${factors.join()}`);
    assert.ok(longestFitting(config, 2 ** 40, 300, true) < 300);
    assert.equal(longestFitting(config, 2 ** 20, 4096, true), 0);
  });
});
