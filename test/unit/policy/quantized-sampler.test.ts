import assert from 'node:assert/strict';
import { frozenBase } from '../../fixtures/lora.ts';
import { decoderConfig, type DecoderConfig } from '../../../trainer/models/decoder-config.ts';
import type { LoraSettings } from '../../../trainer/models/lora.ts';
import { wholeModel } from '../../../trainer/models/policy-weights.ts';
import { quantizedModel } from '../../../trainer/models/quantized-model.ts';
import type { ParameterBlock } from '../../../trainer/models/weights.ts';
import { DecodeModel } from '../../../trainer/policy/decode-model.ts';
import { engine, randomTokens, smallConfig, smallWeights } from '../models/small-model.ts';
import { SamplerHarness, type Result } from './sampler-harness.ts';

const sizes = { vocab: 300, hidden: 64, intermediate: 96, layers: 2, heads: 4, kvHeads: 2, headDim: 32, contextLength: 600 };
const sliding = { size: 90, layers: [true, false], rope: { theta: 100, scaling: null } };
const qwen2 = decoderConfig('qwen2', sizes);
const families: DecoderConfig[] = [
  qwen2, decoderConfig('llama', sizes), decoderConfig('qwen3', sizes), decoderConfig('gemma3_text', sizes, { sliding }),
  decoderConfig('gemma2', sizes, { sliding: { ...sliding, rope: qwen2.rope }, attentionSoftcap: 2, logitSoftcap: 3 }),
];
const lora: LoraSettings = { rank: 4, alpha: 8, targets: ['q_proj', 'v_proj', 'down_proj'], rslora: false };

/** The log-probabilities of a sampler's own answer, as another computes them. */
async function logprobsOf(h: SamplerHarness, prompt: number[], { tokens }: Result): Promise<number[]> {
  const { model } = h;
  const logprob = (logits: Float32Array, token: number) => logits[token]! - Math.log(logits.reduce((sum, x) => sum + Math.exp(x), 0));
  let logits: Float32Array | null = null;
  for (let at = 0; at < prompt.length; at += model.chunk) [logits] = await model.extend(0, [prompt.slice(at, at + model.chunk)], [true]) as [Float32Array];
  const all: number[] = [];
  for (const token of tokens) {
    all.push(logprob(logits!, token));
    ({ logits } = await model.step([token]));
  }
  model.cache.clear(0);
  return all;
}

describe('a sampler in int8', () => {
  const harnesses: SamplerHarness[] = [];
  const harness = (...args: ConstructorParameters<typeof SamplerHarness>) => {
    const made = new SamplerHarness(...args);
    harnesses.push(made);
    return made;
  };
  afterEach(async () => { for (const { model } of harnesses.splice(0)) await model.release(); });

  const cases: [string, DecoderConfig, object][] = [
    ...families.map((config): [string, DecoderConfig, object] => [config.family, config, {}]),
    ...(['float32', 'float16', 'int8', 'int4'] as const).map((base): [string, DecoderConfig, object] => [`factors beside a model in ${base}`, qwen2, { lora, base }]),
  ];
  for (const [name, config, options] of cases) {
    it(`is near the one in float32, and gives a request the same bits alone and among others: ${name}`, async () => {
      const weights = smallWeights(config, 1, 0.1);
      const request = (id: number) => ({ id, prompt: randomTokens(30 + ((id * 53) % 150), id, config.vocab), max_tokens: 10 });
      const [crowd, alone, exact] = [harness(config, weights, { ...options, dtype: 'int8', slots: 5 }), harness(config, weights, { ...options, dtype: 'int8', cacheBytes: 0 }), harness(config, weights, options)];
      for (let id = 1; id <= 7; id++) crowd.submit(request(id));
      crowd.submit({ ...request(1), id: 8, seed: 1 });
      await crowd.finish();
      let furthest = 0;
      for (const id of [1, 2, 6]) {
        const result = await alone.sample({ ...request(id), id: 1, seed: id });
        assert.deepEqual(crowd.results.get(id), result);
        (await logprobsOf(exact, request(id).prompt, result)).forEach((logprob, i) => { furthest = Math.max(furthest, Math.abs(logprob - result.logprobs[i]!)); });
      }
      assert.deepEqual({ ...crowd.results.get(8)!, cached: 0 }, { ...crowd.results.get(1)!, cached: 0 });
      assert.ok(furthest > 1e-5 && furthest < 0.15, String(furthest));
    }).timeout(60_000);
  }

  it('draws with new weights once they have changed', async () => {
    const weights = smallWeights(qwen2, 1, 0.1);
    const h = harness(qwen2, weights, { dtype: 'int8' });
    const prompt = randomTokens(20, 4, qwen2.vocab);
    const before = await h.sample({ prompt });
    weights.flat.set(smallWeights(qwen2, 2, 0.1).flat);
    await h.sampler.weightsChanged();
    const after = await h.sample({ prompt });
    assert.notDeepEqual(after.logprobs, before.logprobs);
    assert.deepEqual(after, await harness(qwen2, weights, { dtype: 'int8' }).sample({ prompt }));
  });

  it('takes a quarter of the memory', async () => {
    const bytes = (tensors: Iterable<{ data: ArrayBufferView }>) => [...tensors].reduce((sum, { data }) => sum + data.byteLength, 0);
    const weights: ParameterBlock = smallWeights({ ...qwen2, vocab: 3000 });
    assert.ok(bytes((await quantizedModel(wholeModel(weights), engine)).values()) < 0.29 * bytes(weights.tensors.values()));
  });

  it('keeps the codes of a base that is in int8 already', async () => {
    const base = frozenBase(smallWeights(qwen2), 'int8');
    const copy = await quantizedModel({ trainable: smallWeights(qwen2), frozen: { base, lora } }, engine);
    for (const [name, { data }] of base.tensors) if (name.endsWith('_proj.weight')) assert.deepEqual(copy.get(name)!.data, data, name);
  });

  it('has codes and scales of the largest value of each block; blocks of zeros stay zeros', async () => {
    const weights = smallWeights({ ...qwen2, vocab: 9000 });
    const { data: table } = weights.tensors.get('model.embed_tokens.weight')!;
    table.fill(0, 64, 96);
    const copy = await quantizedModel(wholeModel(weights), engine);
    const [codes, scales] = ['', ' scales'].map((part) => copy.get(`model.embed_tokens.weight${part}`)!.data as Uint8Array | Float32Array) as [Uint8Array, Float32Array];
    table.forEach((value, i) => {
      const block = Math.floor(i / 32);
      const most = table.subarray(block * 32, (block + 1) * 32).reduce((max, x) => Math.max(max, Math.abs(x)), 0);
      assert.ok(Math.abs(scales[block]! - most / 127) <= 1e-7 * most + 2e-30);
      assert.ok(Math.abs((codes[i]! - 128) * scales[block]! - value) <= 0.5001 * scales[block]!, `${i}`);
    });
  });

  it('refuses rows that do not divide into blocks, by name', async () => {
    const model = new DecodeModel(smallConfig, wholeModel(smallWeights()), engine, 2, 'int8');
    await assert.rejects(model.step([1]), { code: 'bad_input', message: /sampling.dtype "int8" .*"model.embed_tokens.weight" have 16\. Use "float32"/ });
    await model.release(); // and lets its policy close
  });

  it('refuses providers that have no such products', async () => {
    const model = new DecodeModel(qwen2, wholeModel(smallWeights(qwen2)), { provider: 'cuda', threads: 1 }, 2, 'int8');
    await assert.rejects(model.step([1]), { code: 'environment', message: /sampling.dtype "int8" cannot be used with the provider "cuda"/ });
  });
});
