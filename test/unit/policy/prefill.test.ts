import assert from 'node:assert/strict';
import { decoderConfig, type DecoderConfig } from '../../../trainer/models/decoder-config.ts';
import { uniforms } from '../../../trainer/policy/random.ts';
import { randomTokens, smallConfig, smallWeights } from '../models/small-model.ts';
import { SamplerHarness, type Result } from './sampler-harness.ts';

const long = { ...smallConfig, contextLength: 600 };
const sliding = { size: 90, layers: [true, false], rope: { theta: 100, scaling: null } };
const families: DecoderConfig[] = [
  long, decoderConfig('llama', long), decoderConfig('qwen3', long), decoderConfig('gemma3_text', long, { sliding }),
  decoderConfig('gemma2', long, { sliding: { ...sliding, rope: long.rope }, attentionSoftcap: 2, logitSoftcap: 3 }),
];

describe('prompts', () => {
  const harnesses: SamplerHarness[] = [];
  const harness = (...args: ConstructorParameters<typeof SamplerHarness>) => {
    const made = new SamplerHarness(...args);
    harnesses.push(made);
    return made;
  };
  /** Between two steps it computes as much of prompts as of a large model. */
  const slow = (h: SamplerHarness) => Object.defineProperty(h.model, 'chunksPerStep', { value: 1 });
  afterEach(async () => { for (const { model } of harnesses.splice(0)) await model.release(); });

  it('that share beginnings give the same bits as alone and without a cache, in every family, with any number of bytes for it', async () => {
    for (const [f, config] of families.entries()) {
      const weights = smallWeights(config);
      const uniform = uniforms(f);
      const below = (n: number) => Math.floor(uniform() * n);
      const alone = harness(config, weights, { slots: 1, cacheBytes: 0 });
      const bytesPerToken = 8 * config.layers * config.kvHeads * config.headDim;
      const shared = [2 ** 28, 3 * alone.model.chunk * bytesPerToken].map((cacheBytes) => harness(config, weights, { slots: 5, cacheBytes }));
      const texts: number[][] = [randomTokens(70, f), randomTokens(200, f + 9)];
      let cached = 0;
      for (let round = 0; round < 3; round++) {
        const prompts = Array.from({ length: 5 }, () => [...texts[below(texts.length)]!.slice(0, 400), ...randomTokens(below(90), below(1000))]);
        prompts.push(prompts[0]!);
        const expected: Result[] = [];
        for (const [id, prompt] of prompts.entries()) {
          alone.submit({ id, prompt, seed: id, max_tokens: 6 });
          await alone.finish();
          expected.push(alone.results.get(id)!);
        }
        for (const h of shared) {
          prompts.forEach((prompt, id) => h.submit({ id, prompt, seed: id, max_tokens: 6 }));
          await h.finish();
          expected.forEach((result, id) => assert.deepEqual({ ...h.results.get(id)!, cached: 0 }, result, `${config.family}, request ${id}`));
        }
        cached += prompts.reduce((sum, _, id) => sum + shared[0]!.results.get(id)!.cached, 0);
        texts.push(...prompts.map((prompt, id) => [...prompt, ...expected[id]!.tokens]));
      }
      assert.ok(cached > 300, `${config.family}: ${cached} tokens from the cache`);
    }
  }).timeout(240_000);

  for (const [heads, kvHeads, headDim] of [[4, 4, 32], [8, 1, 64], [2, 2, 128], [4, 1, 256], [1, 1, 256]] as [number, number, number][]) {
    it(`and answers have the same bits among others as alone: ${heads} heads over ${kvHeads} of ${headDim}`, async () => {
      const config = { ...long, vocab: 300, hidden: 64, layers: 2, heads, kvHeads, headDim };
      const weights = smallWeights(config, 1, 0.1);
      const request = (id: number) => ({ id, prompt: randomTokens(30 + ((id * 53) % 200), id, config.vocab), max_tokens: 10 });
      const crowd = harness(config, weights, { slots: 12 });
      crowd.submit({ id: 99, prompt: randomTokens(500, 99, config.vocab), max_tokens: 60 });
      for (let id = 1; id <= 12; id++) crowd.submit(request(id));
      await crowd.finish();
      for (const id of [1, 2, 11]) {
        const alone = harness(config, weights, { slots: 12 });
        alone.submit(request(id));
        await alone.finish();
        assert.deepEqual(crowd.results.get(id), alone.results.get(id), `request ${id}`);
      }
    }).timeout(60_000);
  }

  it('are computed once for a group, and the next turn computes what is new', async () => {
    const h = harness(long, smallWeights(long));
    const prompt = randomTokens(150, 3);
    for (let id = 1; id <= 6; id++) h.submit({ id, prompt });
    await h.finish();
    const cached = [1, 2, 3, 4, 5, 6].map((id) => h.results.get(id)!.cached);
    assert.equal(cached.reduce((sum, n) => sum + n, 0), 5 * 150); // they take turns with the chunks
    const next = await h.sample({ prompt: [...prompt, ...h.results.get(1)!.tokens, ...randomTokens(60, 4)] });
    assert.equal(next.cached, 128);
  });

  it('of any length do not hold up running requests, nor each other', async () => {
    const h = harness(long, smallWeights(long), { slots: 4 });
    slow(h);
    h.submit({ id: 1, prompt: randomTokens(5, 1), max_tokens: 50 });
    await h.turn();
    h.submit({ id: 2, prompt: randomTokens(500, 2) });
    h.submit({ id: 3, prompt: randomTokens(500, 3) });
    h.submit({ id: 4, prompt: randomTokens(20, 4) });
    for (let i = 0; i < 4; i++) {
      const before = h.results.get(1)!.tokens.length;
      await h.turn();
      assert.equal(h.results.get(1)!.tokens.length, before + 1);
    }
    assert.ok(h.results.get(4)!.tokens.length > 0);
    assert.equal(h.results.get(2)!.tokens.length, 0);
    await h.finish();
    assert.equal(h.results.get(3)!.end, 'length');
  });

  it('are begun in the order they came', async () => {
    const h = harness(long, smallWeights(long), { slots: 1 });
    for (let id = 1; id <= 4; id++) h.submit({ id, prompt: randomTokens(id * 50, id), max_tokens: 3 });
    for (const id of [1, 2, 3, 4]) {
      while (h.results.get(id)!.end === '') await h.turn();
      assert.deepEqual([...h.results].filter(([other, { tokens }]) => other > id && tokens.length > 0), []);
    }
  });

  it('are dropped in the middle by a cancellation, and their row is free', async () => {
    const weights = smallWeights(long);
    const expected = await harness(long, weights).sample({ id: 1, prompt: randomTokens(300, 5) });
    const h = harness(long, weights, { slots: 2 });
    slow(h);
    h.submit({ id: 1, prompt: randomTokens(10, 1), max_tokens: 40 });
    h.submit({ id: 2, prompt: randomTokens(400, 2) });
    h.submit({ id: 3, prompt: randomTokens(300, 5), seed: 1 });
    await h.turn();
    await h.turn();
    h.sampler.cancel(2);
    await h.finish();
    assert.equal(h.results.get(2)!.tokens.length, 0);
    assert.deepEqual(h.results.get(3), expected);
  });

  it('of old weights are not continued with new ones', async () => {
    const weights = smallWeights(long);
    const h = harness(long, weights);
    const prompt = randomTokens(200, 3);
    await h.sample({ prompt });
    weights.flat.set(smallWeights(long, 9).flat);
    await h.sampler.weightsChanged();
    const after = await h.sample({ prompt: [...prompt, 1, 2] });
    assert.equal(after.cached, 0);
    assert.deepEqual(after, await harness(long, smallWeights(long, 9)).sample({ prompt: [...prompt, 1, 2] }));
  });

  it('that fail leave nothing behind in their row', async () => {
    const config = { ...long, tied: false };
    const weights = smallWeights(config);
    weights.tensors.get('model.embed_tokens.weight')!.data.fill(NaN, 5 * 16, 6 * 16);
    const sound = (seed: number, length: number) => randomTokens(length, seed).map((token) => (token === 5 ? 6 : token));
    const expected = await harness(config, weights).sample({ prompt: sound(1, 100), top_k: 1 });
    const h = harness(config, weights, { slots: 2 });
    h.submit({ id: 2, prompt: [...sound(2, 150), 5, 5] });
    h.submit({ id: 3, prompt: [5, ...sound(3, 300)] });
    slow(h);
    await h.turn();
    h.sampler.cancel(3);
    await h.finish();
    assert.equal(h.results.get(2)!.end, 'numeric');
    for (const id of [1, 4]) h.submit({ id, prompt: sound(1, 100), seed: 1, top_k: 1 });
    await h.finish();
    for (const id of [1, 4]) assert.deepEqual(h.results.get(id)!.tokens, expected.tokens);
  });
});
