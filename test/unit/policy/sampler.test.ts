import assert from 'node:assert/strict';
import { decoderConfig } from '../../../trainer/models/decoder-config.ts';
import { wholeModel } from '../../../trainer/models/policy-weights.ts';
import { Learner } from '../../../trainer/policy/learner.ts';
import { rowLogprobs } from '../../../trainer/policy/row-logprobs.ts';
import type { TokenConstraint } from '../../../trainer/policy/sampling.ts';
import { baseTypes, loraTargets } from '../../../trainer/protocol/lora-config.ts';
import { referenceLogprobs } from '../models/reference.ts';
import { engine, randomTokens, smallConfig, smallWeights } from '../models/small-model.ts';
import { SamplerHarness as Harness, type Result } from './sampler-harness.ts';

describe('sampler', () => {
  const harnesses: Harness[] = [];
  const harness = (...args: ConstructorParameters<typeof Harness>) => {
    const made = new Harness(...args);
    harnesses.push(made);
    return made;
  };
  afterEach(async () => { for (const { model } of harnesses.splice(0)) await model.release(); });
  const prompt = randomTokens(7, 2);

  it('samples from the distribution of the whole sequence, cache or not', async () => {
    const weights = smallWeights();
    for (const length of [1, 7, 40]) {
      const context = randomTokens(length, 2);
      const { tokens, logprobs } = await harness(smallConfig, weights).sample({ prompt: context, max_tokens: 20 });
      const expected = referenceLogprobs(smallConfig, weights, [...context, ...tokens]).slice(length);
      tokens.forEach((_, i) => near(logprobs[i]!, expected[i]!, 3e-5));
    }
  });

  it('does so in every family, with sliding windows shorter than the text', async () => {
    const sliding = { size: 4, layers: [true, false], rope: { theta: 100, scaling: null } };
    const configs = [
      decoderConfig('llama', smallConfig), decoderConfig('qwen3', smallConfig), decoderConfig('gemma3_text', smallConfig, { sliding }),
      decoderConfig('gemma2', smallConfig, { sliding: { ...sliding, rope: smallConfig.rope }, attentionSoftcap: 2, logitSoftcap: 3 }),
    ];
    for (const config of configs) {
      const weights = smallWeights(config);
      const { tokens, logprobs } = await harness(config, weights).sample({ prompt, max_tokens: 20 });
      const expected = referenceLogprobs(config, weights, [...prompt, ...tokens]).slice(prompt.length);
      tokens.forEach((_, i) => near(logprobs[i]!, expected[i]!, 5e-5));
    }
  });

  it('agrees with the trainer at any temperature', async () => {
    const weights = smallWeights();
    const learner = new Learner(smallConfig, wholeModel(weights), engine);
    for (const temperature of [1, 0.6, 0]) {
      const { tokens, logprobs } = await harness(smallConfig, weights).sample({ prompt, max_tokens: 20, temperature });
      const row = { tokens: [...prompt, ...tokens], mask: [...prompt.map(() => 0), ...tokens.map(() => 1)], temperature };
      const [trained] = await rowLogprobs(learner, [row], 1024);
      logprobs.forEach((logprob, i) => near(logprob, trained![prompt.length + i]!, 1e-5));
      assert.ok(trained!.slice(0, prompt.length).every((x) => x === 0));
    }
    await learner.release();
  });

  it('grows its cache without changing what is sampled', async () => {
    const config = { ...smallConfig, contextLength: 400 };
    const weights = smallWeights(config);
    const { tokens, logprobs, end } = await harness(config, weights).sample({ prompt: randomTokens(100, 4), max_tokens: 300 });
    assert.equal(tokens.length, 300);
    assert.equal(end, 'length');
    const expected = referenceLogprobs(config, weights, [...randomTokens(100, 4), ...tokens]).slice(100);
    tokens.forEach((_, i) => near(logprobs[i]!, expected[i]!, 5e-5));
  }).timeout(60_000);

  for (const base of [null, ...baseTypes]) it(`repeats a request bit for bit whatever runs beside it, in any order${base ? `, with LoRA on ${base}` : ''}`, async () => {
    const options = { slots: 32, ...(base ? { base, lora: { rank: 16, alpha: 16, targets: loraTargets, rslora: false } } : {}) };
    // The sample policy's widths: large enough for the blocked kernels.
    const config = { ...smallConfig, vocab: 768, hidden: 128, intermediate: 352, layers: 2, headDim: 32, contextLength: 512 };
    const weights = smallWeights(config);
    const request = (id: number) => ({ id, prompt: randomTokens(20 + ((id * 37) % 120), id, config.vocab), max_tokens: 5 + ((id * 11) % 40) });
    const alone = new Map<number, Result>();
    for (const id of [1, 2, 3, 4]) {
      const h = harness(config, weights, options);
      h.submit(request(id));
      await h.finish();
      alone.set(id, h.results.get(id)!);
    }
    const crowded = harness(config, weights, options);
    for (let id = 40; id > 20; id--) crowded.submit(request(id));
    crowded.submit(request(4));
    for (let i = 0; i < 6; i++) await crowded.turn();
    for (const id of [2, 3]) crowded.submit(request(id));
    for (let id = 20; id > 5; id--) crowded.submit(request(id));
    for (let i = 0; i < 9; i++) await crowded.turn();
    crowded.submit({ ...request(50), prompt: randomTokens(300, 9, config.vocab), max_tokens: 60 });
    crowded.submit(request(1));
    await crowded.finish();
    for (const [id, result] of alone) assert.deepEqual(crowded.results.get(id), result, `request ${id}`);
  }).timeout(60_000);

  it('gives different answers for different seeds and the same for the same', async () => {
    const h = harness(smallConfig, smallWeights());
    for (const id of [1, 2, 3]) h.submit({ id, prompt, seed: Math.min(id, 2) });
    await h.finish();
    const [a, b, c] = [1, 2, 3].map((id) => h.results.get(id)!.tokens);
    assert.notDeepEqual(a, b);
    assert.deepEqual(b, c);
  });

  it('stops at every end-of-sequence id, which is part of the answer', async () => {
    const weights = smallWeights();
    const free = await harness(smallConfig, weights).sample({ prompt, max_tokens: 15 });
    for (const at of [3, 6]) {
      const first = free.tokens.indexOf(free.tokens[at]!);
      const stopped = await harness(smallConfig, weights, { stopIds: [99, free.tokens[at]!] }).sample({ prompt, max_tokens: 15 });
      assert.deepEqual(stopped.tokens, free.tokens.slice(0, first + 1));
      assert.deepEqual(stopped.logprobs, free.logprobs.slice(0, first + 1));
      assert.equal(stopped.end, 'stop');
    }
    assert.equal(free.end, 'length');
  });

  it('stops at a stop string across tokens', async () => {
    const weights = smallWeights();
    const free = await harness(smallConfig, weights).sample({ prompt, max_tokens: 15 });
    const letters = free.tokens.map((id) => String.fromCharCode(97 + (id % 26))).join('');
    const stop = letters.slice(4, 7);
    const stopped = await harness(smallConfig, weights).sample({ prompt, max_tokens: 15, stop: ['no', stop] });
    assert.equal(stopped.tokens.length, letters.indexOf(stop) + 3);
    assert.equal(stopped.end, 'stop');
  });

  it('ends at max_tokens and at the end of the context', async () => {
    const h = harness(smallConfig, smallWeights());
    h.submit({ id: 1, prompt, max_tokens: 1 });
    h.submit({ id: 2, prompt: randomTokens(smallConfig.contextLength - 3, 1), max_tokens: 50 });
    await h.finish();
    assert.deepEqual([1, 2].map((id) => [h.results.get(id)!.tokens.length, h.results.get(id)!.end]), [[1, 'length'], [3, 'length']]);
  });

  it('forgets a cancelled request and goes on with the others', async () => {
    const weights = smallWeights();
    const expected = await harness(smallConfig, weights).sample({ id: 1, prompt, seed: 3 });
    const h = harness(smallConfig, weights, { slots: 2 });
    for (const id of [1, 2, 3, 4]) h.submit({ id, prompt: id === 3 ? prompt : randomTokens(9, id), seed: id });
    await h.turn();
    h.sampler.cancel(1);
    h.sampler.cancel(4);
    const seen = h.results.get(1)!.tokens.length;
    await h.finish();
    assert.equal(h.results.get(1)!.tokens.length, seen);
    assert.equal(h.results.get(4)!.tokens.length, 0);
    assert.equal(h.results.get(2)!.end, 'length');
    assert.deepEqual(h.results.get(3)!.tokens, expected.tokens);
  });

  it('reports the alternatives it is asked for', async () => {
    const { alternatives, tokens, logprobs } = await harness(smallConfig, smallWeights()).sample({ prompt, temperature: 0, top_logprobs: 3 });
    alternatives.forEach((list, i) => {
      assert.equal(list.length, 3);
      assert.equal(list[0]!.token, tokens[i]);
      near(list[0]!.logprob, logprobs[i]!, 1e-9);
    });
  });

  it('draws what a constraint allows, with the probabilities among that, and leaves free requests beside it alone', async () => {
    const weights = smallWeights();
    const third = (): TokenConstraint & { seen: number[] } => {
      const seen: number[] = [];
      return {
        seen,
        allowed: () => bitsOf(Array.from({ length: smallConfig.vocab }, (_, id) => id).filter((id) => id % 3 === seen.length % 3)),
        accept: (token) => void seen.push(token),
        get complete() { return seen.length === 9; },
      };
    };
    const free = await harness(smallConfig, weights).sample({ prompt, seed: 2 });
    for (const temperature of [1, 0.7, 0]) {
      const h = harness(smallConfig, weights);
      const constraint = third();
      h.submit({ id: 2, prompt });
      h.submit({ id: 1, prompt, temperature, constraint, top_logprobs: smallConfig.vocab });
      await h.finish();
      const { tokens, logprobs, alternatives, end } = h.results.get(1)!;
      assert.deepEqual(tokens, constraint.seen);
      assert.equal(end, 'stop');
      assert.equal(tokens.length, 9);
      tokens.forEach((token, i) => {
        assert.equal(token % 3, i % 3);
        assert.ok(alternatives[i]!.every((other) => other.token % 3 === i % 3));
        near(alternatives[i]!.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0), 1, 1e-7);
        near(alternatives[i]!.find((other) => other.token === token)!.logprob, logprobs[i]!, 1e-6);
      });
      assert.deepEqual(h.results.get(2), free);
    }
  });

  it('uses new weights after a change, also for a prompt it has seen', async () => {
    const weights = smallWeights();
    const h = harness(smallConfig, weights);
    await h.sample({ prompt });
    weights.flat.set(smallWeights(smallConfig, 9).flat);
    await h.sampler.weightsChanged();
    assert.deepEqual(await h.sample({ prompt }), await harness(smallConfig, smallWeights(smallConfig, 9)).sample({ prompt }));
  });

  it('fails a request whose logits are not finite, and only that', async () => {
    const weights = smallWeights();
    weights.tensors.get('model.embed_tokens.weight')!.data.fill(NaN, 5 * 16, 6 * 16);
    const h = harness({ ...smallConfig, tied: false }, smallWeights({ ...smallConfig, tied: false }));
    await h.sampler.weightsChanged();
    const broken = harness(smallConfig, weights);
    assert.equal((await broken.sample({ prompt: [5] })).end, 'numeric');
    assert.equal((await h.sample({ prompt: [5] })).end, 'length');
  });
});

function bitsOf(tokens: readonly number[]): Uint32Array {
  const bits = new Uint32Array(Math.ceil(smallConfig.vocab / 32));
  for (const token of tokens) bits[token >> 5]! |= 1 << (token & 31);
  return bits;
}

function near(actual: number, expected: number, tolerance: number): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not within ${tolerance} of ${expected}`);
}
