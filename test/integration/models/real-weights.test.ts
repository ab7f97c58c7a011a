import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { saveGguf } from '../../../trainer/models/gguf/save.ts';
import { loadModel, saveModel, type Model } from '../../../trainer/models/model-folder.ts';
import { readTokenizerFiles } from '../../../trainer/models/tokenizer-files.ts';
import { openTokenizer, type ModelTokenizer } from '../../../trainer/models/tokenizer.ts';
import { wholeModel } from '../../../trainer/models/policy-weights.ts';
import { DecodeModel } from '../../../trainer/policy/decode-model.ts';
import { AllLogits } from '../../fixtures/all-logits.ts';
import { LlamaCpp } from '../../fixtures/llama-cpp.ts';
import { findTransformers, transformersLogits } from '../../fixtures/transformers.ts';

const bos = 2;
const texts = ['The capital of France is', 'Once upon a time, there was a little girl who', 'naïve café 🙂 日本語 ä 12345   x\n\n\ty'];
const answerTokens = 16;

describe('Gemma 3 270M', () => {
  let folder: string;
  let llama: LlamaCpp;
  let file: string;
  let model: Model;
  let tokenizer: ModelTokenizer;

  before(async function () {
    this.timeout(600_000);
    folder = mkdtempSync(path.join(tmpdir(), 'gemma-'));
    const fetched = await fetchGemma();
    const started = 'missing' in fetched ? fetched.missing : await LlamaCpp.start();
    if (typeof started === 'string') {
      process.stdout.write(`      ${started}\n`);
      return this.skip();
    }
    llama = started;
    file = (fetched as { file: string }).file;
    model = await loadModel(file);
    tokenizer = await openTokenizer(file, model.config.vocab);
  });
  after(async () => {
    rmSync(folder, { recursive: true });
    await llama?.stop();
  });
  const ids = (text: string) => [bos, ...tokenizer.encode(text)];

  it('quantised: the same tokens, and log-probabilities as near as llama.cpp comes that rounds activations to 8 bits', async () => {
    const theirs = await llama.open(file);
    const ours = new AllLogits(model.config, model.weights);
    for (const text of texts) {
      assert.deepEqual(tokenizer.encode(text), theirs.tokenize(text));
      const [a, b] = [await ours.logprobs(ids(text)), await theirs.logprobs(ids(text))];
      const divergence = b.reduce((sum, row, t) => sum + row.reduce((kl, value, token) => kl + Math.exp(value) * (value - a[t]![token]!), 0), 0) / b.length;
      assert.ok(divergence < 0.02, `${text}: KL divergence ${divergence} nats per token`);
    }
    await theirs.close();
  }).timeout(600_000);

  it(`written in float32: log-probabilities within 0.02, and the same ${answerTokens} greedy tokens`, async () => {
    const whole = path.join(folder, 'whole.gguf');
    await saveGguf(whole, { name: 'gemma', ...model, tokenizer: await readTokenizerFiles(file) }, 'F32');
    const theirs = await llama.open(whole);
    const ours = new AllLogits(model.config, model.weights);
    const decode = new DecodeModel(model.config, wholeModel(model.weights), { provider: 'cpu', threads: 2 }, 1);
    let most = 0;
    for (const text of texts) {
      assert.deepEqual(tokenizer.encode(text), theirs.tokenize(text));
      const [a, b] = [await ours.logprobs(ids(text)), await theirs.logprobs(ids(text))];
      // Tokens that nobody would sample (e^-12) have logits far from the others, and errors in proportion.
      b.forEach((row, t) => row.forEach((value, token) => { if (value > -12) most = Math.max(most, Math.abs(value - a[t]![token]!)); }));
      assert.deepEqual(tokenizer.decode(await greedy(decode, ids(text))), tokenizer.decode(await theirs.greedy(ids(text), answerTokens)), text);
    }
    process.stdout.write(`      max |Δ log-probability| ${most.toExponential(1)}\n`);
    assert.ok(most <= 0.02, `max |Δ| is ${most}`);
    await decode.release();
    await theirs.close();
  }).timeout(600_000);
});

describe('Gemma 3 270M in transformers', () => {
  it('has logits within 1e-3 of ours', async function () {
    const [fetched, found] = [await fetchGemma(), await findTransformers()];
    if ('missing' in fetched || 'missing' in found) {
      process.stdout.write(`      ${'missing' in fetched ? fetched.missing : (found as { missing: string }).missing}\n`);
      return this.skip();
    }
    const folder = mkdtempSync(path.join(tmpdir(), 'gemma-'));
    try {
      const model = await loadModel(fetched.file);
      const tokenizer = await openTokenizer(fetched.file, model.config.vocab);
      await saveModel(folder, model);
      const prompts = texts.map((text) => [bos, ...tokenizer.encode(text)]);
      const [expected] = await transformersLogits(found.python, [folder], prompts);
      const most = await new AllLogits(model.config, model.weights).largestDifference(prompts, expected!);
      process.stdout.write(`      max |Δlogit| ${most.toExponential(1)}\n`);
      assert.ok(most <= 1e-3, `max |Δlogit| is ${most}`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }).timeout(600_000);
});

async function fetchGemma(): Promise<{ file: string } | { missing: string }> {
  const script = path.join(import.meta.dirname, '..', '..', '..', 'scripts', 'gemma.mjs');
  return (await import(script) as { fetchGemma: () => { file: string } | { missing: string } }).fetchGemma();
}

async function greedy(decode: DecodeModel, prompt: number[]): Promise<number[]> {
  decode.cache.clear(0, { damaged: false });
  let logits: Float32Array | null = null;
  for (let at = 0; at < prompt.length; at += decode.chunk) [logits = null] = await decode.extend(0, [prompt.slice(at, at + decode.chunk)], [at + decode.chunk >= prompt.length]);
  const answer = [best(logits!)];
  while (answer.length < answerTokens) answer.push(best((await decode.step([answer.at(-1)!])).logits));
  return answer;
}

function best(logits: Float32Array): number { return logits.reduce((most, value, token) => (value > logits[most]! ? token : most), 0); }
