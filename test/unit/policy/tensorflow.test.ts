import '@tensorflow/tfjs-backend-cpu';
import * as tf from '@tensorflow/tfjs-core';
import assert from 'node:assert/strict';
import { decoderConfig, type DecoderConfig } from '../../../trainer/models/decoder-config.ts';
import { wholeModel } from '../../../trainer/models/policy-weights.ts';
import { DecodeModel } from '../../../trainer/policy/decode-model.ts';
import { Learner } from '../../../trainer/policy/learner.ts';
import { rowLogprobs } from '../../../trainer/policy/row-logprobs.ts';
import type { EngineOptions } from '../../../trainer/policy/sessions.ts';
import { supervisedStep } from '../../../trainer/policy/supervised.ts';
import { largestError } from '../engine/evaluate.ts';
import { engine as onCpu, randomTokens, runRow, smallConfig, smallWeights } from '../models/small-model.ts';

const onTensorFlow: EngineOptions = { provider: 'tensorflow', threads: 1, tensorflow: tf };
const sliding = { size: 4, layers: [true, false], rope: { theta: 100, scaling: null } };
const configs: readonly DecoderConfig[] = [
  smallConfig, decoderConfig('llama', smallConfig), decoderConfig('qwen3', smallConfig), decoderConfig('gemma3_text', smallConfig, { sliding }),
];
const close = (actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number, what: string) => {
  const error = largestError(Array.from(actual), Array.from(expected));
  assert.ok(error < tolerance, `${what} differs by ${error}`);
};

describe('policy on TensorFlow.js', function () {
  this.timeout(120_000); // its backend without native code takes a second per step on a busy machine
  let before = 0;
  beforeEach(async () => {
    await tf.setBackend('cpu');
    before = tf.memory().numTensors;
  });
  afterEach(() => assert.equal(tf.memory().numTensors, before, 'tensors are left on the device'));

  it('loss and every gradient of a training step are those of ONNX Runtime, in every family', async () => {
    const tokens = randomTokens(11, 3);
    const vector = (f: (i: number) => number) => tokens.slice(1).map((_, i) => f(i));
    const perToken = { weight: vector(() => 0.1), advantage: vector((i) => (i % 2 === 0 ? 1 : -0.5)), old_logprob: vector((i) => -3 - 0.1 * i), ref_logprob: vector((i) => -3 + 0.1 * i) };
    const options = {
      tokens, temperature: 0.8, perToken, scalars: { clip_low: 0.2, clip_high: 0.28, clip_c: 3, kl_coef: 0.1 },
      objective: { kind: 'grpo', kl: 'k3', level: 'token', entropy: false } as const,
    };
    for (const config of configs) {
      const weights = smallWeights(config);
      const [mine, theirs] = [await runRow({ ...options, config, weights, on: onTensorFlow }), await runRow({ ...options, config, weights, on: onCpu })];
      assert.deepEqual(Object.keys(mine), Object.keys(theirs));
      for (const name of Object.keys(theirs)) close(mine[name]!, theirs[name]!, 1e-5, `${config.family}: ${name}`);
    }
  });

  it('prefill and decode steps give the logits and keys of ONNX Runtime', async () => {
    for (const config of [configs[0]!, configs[3]!]) {
      const weights = smallWeights(config);
      const [mine, theirs] = await Promise.all([onTensorFlow, onCpu].map(async (engine) => {
        const model = new DecodeModel(config, wholeModel(weights), engine, 2);
        const results = (await model.extend(0, [randomTokens(7, 1), randomTokens(9, 2)], [true, true])) as Float32Array[];
        for (const slot of [0, 1]) results.push(model.cache.read(slot, 0));
        for (let token = 0; token < 3; token++) results.push((await model.step([token, token + 5])).logits.slice());
        await model.release();
        return results;
      }));
      mine!.forEach((result, i) => close(result, theirs![i]!, 1e-5, `${config.family}: result ${i}`));
    }
  });

  it('a learner takes the same steps, on rows of which two begin alike', async () => {
    const common = randomTokens(4, 9);
    const rows = [6, 9, 12].map((length, i) => ({ tokens: i > 0 ? [...common, ...randomTokens(length - 4, i)] : randomTokens(length, i), mask: Array.from({ length }, (_, t) => (t >= 2 ? 1 : 0)), temperature: 1 }));
    const settings = { lr: 1e-3, betas: [0.9, 0.95] as [number, number], weight_decay: 0.01, max_grad_norm: 1, micro_batch_tokens: 32 };
    const [mine, theirs] = await Promise.all([onTensorFlow, onCpu].map(async (engine) => {
      const learner = new Learner(smallConfig, wholeModel(smallWeights()), engine);
      const steps = [];
      for (let step = 0; step < 3; step++) steps.push(await supervisedStep(learner, rows, settings));
      const logprobs = await rowLogprobs(learner, rows, 32);
      await learner.release();
      return [...steps.flatMap(({ loss, grad_norm }) => [loss, grad_norm]), ...logprobs.flatMap((row) => [...row])];
    }));
    close(mine!, theirs!, 1e-4, 'a loss, gradient norm or log-probability');
  });
});
