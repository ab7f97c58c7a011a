import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { decoderConfig } from '../../../trainer/models/decoder-config.ts';
import { initialFactors, type LoraSettings } from '../../../trainer/models/lora.ts';
import { loadModel, saveModel, type Model } from '../../../trainer/models/model-folder.ts';
import { wholeModel, type PolicyWeights } from '../../../trainer/models/policy-weights.ts';
import { loraTargets } from '../../../trainer/protocol/lora-config.ts';
import type { TrainRow, UpdateSettings } from '../../../trainer/protocol/policy.ts';
import { readCheckpoint, writeCheckpoint } from '../../../trainer/policy/checkpoint.ts';
import { DecodeModel } from '../../../trainer/policy/decode-model.ts';
import { grpoUpdate } from '../../../trainer/policy/grpo-update.ts';
import { Learner } from '../../../trainer/policy/learner.ts';
import { rowLogprobs } from '../../../trainer/policy/row-logprobs.ts';
import { frozenBase, randomFactors } from '../../fixtures/lora.ts';
import { engine, randomTokens, smallConfig, smallWeights } from '../models/small-model.ts';

const lora: LoraSettings = { rank: 4, alpha: 16, targets: loraTargets, rslora: false };
const settings: UpdateSettings = {
  lr: 1e-2, betas: [0.9, 0.95], weight_decay: 0, max_grad_norm: 1, clip_ratio_low: 0.2, clip_ratio_high: 0.28, clip_ratio_c: 3, importance_sampling_level: 'token', rollout_is: 'none',
  rollout_is_threshold: 2, entropy_coeff: 0, kl_loss_coef: 0.1, kl_loss_type: 'k3', micro_batch_tokens: 128, ppo_epochs: 1,
};

describe('policy with LoRA', () => {
  let folder: string;
  const learners: Learner[] = [];
  beforeEach(() => { folder = mkdtempSync(path.join(tmpdir(), 'lora-')); });
  afterEach(async () => {
    rmSync(folder, { recursive: true });
    for (const made of learners.splice(0)) await made.release();
  });
  const fresh = (factors = initialFactors(smallConfig, lora, 1)): PolicyWeights => ({ trainable: factors, frozen: { base: frozenBase(smallWeights()), lora } });
  const learnerOf = (weights: PolicyWeights) => {
    learners.push(new Learner(smallConfig, weights, engine));
    return learners.at(-1)!;
  };
  const bare = [5, 9, 20, 33].map((length, i) => ({ tokens: randomTokens(length, i + 1), mask: Array.from({ length }, (_, t) => (t >= length / 2 ? 1 : 0)), temperature: 1 }));
  /** Rows as the sampler would give them. */
  const rowsOf = async (learner: Learner): Promise<TrainRow[]> => {
    const old = await rowLogprobs(learner, bare, 1024);
    return bare.map((row, i) => ({ ...row, advantages: row.mask.map((m) => m * (i % 2 === 0 ? 1 : -1)), old_logprobs: [...old[i]!], weights: row.mask.map((m) => m / 40) }));
  };

  it('learns with a frozen model whose reference is the model without factors', async () => {
    const weights = fresh();
    const before = structuredClone(weights.frozen!.base.tensors);
    const learner = learnerOf(weights);
    const reference = initialFactors(smallConfig, lora, 1);
    const rows = await rowsOf(learner);
    const [plain, referenced] = [await rowLogprobs(learnerOf({ trainable: smallWeights(), frozen: null }), bare, 1024), await rowLogprobs(learner, bare, 1024, reference)];
    assert.deepEqual(referenced, plain);
    const first = await grpoUpdate(learner, [rows], settings, reference);
    assert.ok(first.grad_norm > 0.01 && Math.abs(first.kl!) < 1e-6);
    for (let i = 0; i < 9; i++) await grpoUpdate(learner, [rows], settings, reference);
    const now = await rowLogprobs(learner, bare, 1024);
    const gain = rows.reduce((sum, row, i) => sum + row.advantages.reduce((s, a, t) => s + a * (now[i]![t]! - row.old_logprobs[t]!), 0), 0);
    assert.ok(gain > 1, String(gain));
    assert.ok((await grpoUpdate(learner, [rows], settings, reference)).kl! > 1e-4);
    assert.deepEqual(weights.frozen!.base.tensors, before);
    assert.deepEqual(await rowLogprobs(learner, bare, 1024, reference), plain);
    assert.equal(Object.keys(learner.optimizerState!.firstMoments).length, weights.trainable.tensors.size);
  });

  it('samples with the log-probabilities of the trainer, and with new factors without new graphs', async () => {
    const weights = fresh(randomFactors(smallConfig, lora));
    const learner = learnerOf(weights);
    const decode = new DecodeModel(smallConfig, weights, engine, 4);
    for (const seed of [3, 4]) {
      weights.trainable.flat.set(randomFactors(smallConfig, lora, seed).flat);
      await decode.weightsChanged();
      const prompt = randomTokens(9, seed);
      decode.cache.clear(0);
      const tokens = [...prompt];
      const logprobs: number[] = [];
      let logits = (await decode.extend(0, [prompt], [true]))[0]!;
      for (const next of randomTokens(12, seed + 9)) {
        logprobs.push(logSoftmaxAt(logits, next));
        tokens.push(next);
        ({ logits } = await decode.step([next]));
      }
      const [trained] = await rowLogprobs(learner, [{ tokens, mask: tokens.map((_, t) => (t >= prompt.length ? 1 : 0)), temperature: 1 }], 1024);
      logprobs.forEach((logprob, t) => assert.ok(Math.abs(logprob - trained![prompt.length + t]!) < 1e-5));
    }
    await decode.release();
  });

  const wide = decoderConfig('llama', { vocab: 23, hidden: 64, intermediate: 96, layers: 2, heads: 4, kvHeads: 2, headDim: 32, contextLength: 96 });
  for (const [type, most] of [['float32', 0], ['float16', 5e-3], ['int8', 0.05], ['int4', 1]] as const) {
    it(`on a model kept in ${type}: trainer, sampler and saved model agree, and are near the model itself`, async () => {
      const model = smallWeights(wide, 1, 0.1);
      const weights: PolicyWeights = { trainable: randomFactors(wide, lora), frozen: { base: frozenBase(model, type), lora } };
      learners.push(new Learner(wide, weights, engine), new Learner(wide, { ...weights, frozen: { base: frozenBase(model), lora } }, engine));
      const [learner, exact] = learners.slice(-2) as [Learner, Learner];
      const [ours, theirs] = [await rowLogprobs(learner, bare, 1024), await rowLogprobs(exact, bare, 1024)];
      const furthest = Math.max(...ours.flatMap((row, i) => [...row].map((logprob, t) => Math.abs(logprob - theirs[i]![t]!))));
      assert.ok(furthest <= most && (most === 0 || furthest > most / 1e4), String(furthest));
      const before = structuredClone(weights.frozen!.base.tensors);
      const rows = bare.map((row, i) => ({ ...row, advantages: row.mask.map((m) => m * (i % 2 === 0 ? 1 : -1)), old_logprobs: [...ours[i]!], weights: row.mask.map((m) => m / 40) }));
      assert.ok((await grpoUpdate(learner, [rows], { ...settings, kl_loss_coef: 0 }, null)).grad_norm > 0.01);
      assert.deepEqual(weights.frozen!.base.tensors, before);

      const now = await rowLogprobs(learner, bare, 1024);
      const decode = new DecodeModel(wide, weights, engine, 4);
      const [tokens, first] = [bare[3]!.tokens, 17];
      let logits = (await decode.extend(0, [tokens.slice(0, first)], [true]))[0]!;
      for (let t = first; t < tokens.length; t++) {
        assert.ok(Math.abs(logSoftmaxAt(logits, tokens[t]!) - now[3]![t]!) < 1e-5);
        logits = (await decode.step([tokens[t]!])).logits;
      }
      await decode.release();

      const source = path.join(folder, 'source');
      await writeSource(source, { config: wide, weights: model });
      await writeCheckpoint(path.join(folder, 'final'), source, weights, null);
      learners.push(new Learner(wide, wholeModel((await loadModel(path.join(folder, 'final'))).weights), engine));
      const saved = await rowLogprobs(learners.at(-1)!, bare, 1024);
      saved.forEach((row, i) => row.forEach((logprob, t) => assert.ok(Math.abs(logprob - now[i]![t]!) < 2e-5)));
    });
  }

  it('refuses to quantise rows that do not divide into blocks, by name', () => {
    assert.throws(() => frozenBase(smallWeights(), 'int8'), { code: 'bad_input', message: /q_proj.weight" have 16 values, and int8 keeps them in blocks of 32/ });
  });

  it('saves the adapter alone, and goes on from it bit for bit as if never interrupted', async () => {
    const source = path.join(folder, 'source');
    await writeSource(source);
    const [straight, first, second] = [fresh(), fresh(), fresh(initialFactors(smallConfig, lora, 7))];
    const rows = await rowsOf(learnerOf(fresh()));
    const train = async (learner: Learner, steps: number) => { for (let i = 0; i < steps; i++) await grpoUpdate(learner, [rows], { ...settings, kl_loss_coef: 0 }, null); };
    const [a, b, c] = [straight, first, second].map(learnerOf) as [Learner, Learner, Learner];
    await train(a, 4);
    await train(b, 2);
    const target = path.join(folder, 'checkpoint');
    await writeCheckpoint(target, source, first, { version: 2, optimizer: b.optimizerState, average: null });
    assert.deepEqual(readdirSync(target).sort(), ['adapter_config.json', 'adapter_model.safetensors', 'config.json', 'generation_config.json', 'optimizer.safetensors', 'tokenizer.json', 'trainer_state.json']);
    const { weights, optimizer } = await readCheckpoint(target, smallConfig, second.frozen);
    second.trainable.flat.set(weights.flat);
    c.restoreOptimizer(optimizer);
    await train(c, 2);
    assert.deepEqual(c.snapshot(), a.snapshot());
    await assert.rejects(readCheckpoint(target, smallConfig, { ...second.frozen!, lora: { ...lora, alpha: 8 } }), { code: 'bad_input', message: /other LoRA settings/ });
  });

  it('ends as a model of its own with the adapter beside it; a checkpoint opens as the same model', async () => {
    const source = path.join(folder, 'source');
    await writeSource(source);
    const weights = fresh(randomFactors(smallConfig, lora));
    const [final, checkpoint] = [path.join(folder, 'final'), path.join(folder, 'checkpoint')];
    await writeCheckpoint(final, source, weights, null);
    await writeCheckpoint(checkpoint, source, weights, { version: 1, optimizer: null, average: null });
    assert.deepEqual(readdirSync(path.join(final, 'adapter')), ['adapter_config.json', 'adapter_model.safetensors']);
    const merged = await loadModel(final);
    assert.deepEqual((await loadModel(checkpoint)).weights, merged.weights);
    const [a, b] = [await rowLogprobs(learnerOf(weights), bare, 1024), await rowLogprobs(learnerOf({ trainable: merged.weights, frozen: null }), bare, 1024)];
    a.forEach((row, i) => row.forEach((logprob, t) => assert.ok(Math.abs(logprob - b[i]![t]!) < 1e-5)));
    rmSync(source, { recursive: true });
    await assert.rejects(loadModel(checkpoint), { code: 'not_found', message: /source, which is not there/ });
  });
});

function logSoftmaxAt(logits: Float32Array, token: number): number {
  const most = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  return logits[token]! - most - Math.log(logits.reduce((sum, x) => sum + Math.exp(x - most), 0));
}

async function writeSource(folder: string, model: Model = { config: smallConfig, weights: smallWeights() }): Promise<void> {
  mkdirSync(folder);
  await saveModel(folder, model);
  writeFileSync(path.join(folder, 'tokenizer.json'), '{}');
}
