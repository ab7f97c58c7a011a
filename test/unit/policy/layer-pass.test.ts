import assert from 'node:assert/strict';
import { weightFeeds, wholeModel, type PolicyWeights } from '../../../trainer/models/policy-weights.ts';
import { frozenBase } from '../../fixtures/lora.ts';
import { initialFactors } from '../../../trainer/models/lora.ts';
import { allocateBlock } from '../../../trainer/models/weights.ts';
import { decoderConfig, type DecoderConfig } from '../../../trainer/models/decoder-config.ts';
import { LayerPass } from '../../../trainer/policy/layer-pass.ts';
import { microBatches } from '../../../trainer/policy/micro-batches.ts';
import type { LossObjective, ObjectiveInputs, Pass } from '../../../trainer/policy/pass.ts';
import { WholePass } from '../../../trainer/policy/whole-pass.ts';
import { engine, randomTokens, smallConfig, smallWeights } from '../models/small-model.ts';

const sizes = { vocab: 23, hidden: 16, intermediate: 24, layers: 3, heads: 4, kvHeads: 2, headDim: 4, contextLength: 96 };
const sliding = { size: 5, layers: [true, false, true], rope: { theta: 100, scaling: null } };
const configs: Record<string, DecoderConfig> = {
  qwen2: smallConfig,
  'qwen3, embeddings not tied': decoderConfig('qwen3', sizes, { tied: false }),
  llama: decoderConfig('llama', sizes),
  'gemma2 with sliding windows and caps': decoderConfig('gemma2', sizes, { sliding, attentionSoftcap: 5, logitSoftcap: 3 }),
  'gemma3 with sliding windows': decoderConfig('gemma3_text', sizes, { sliding }),
};

const rows = [30, 9, 21, 33, 12, 7].map((length, i) => ({
  tokens: randomTokens(length, i + 1), mask: Array.from({ length }, (_, t) => (t >= Math.ceil(length / 2) ? 1 : 0)), temperature: i % 2 ? 1 : 0.7,
}));
const objectives: Record<string, LossObjective> = {
  supervised: { kind: 'supervised' },
  'token level, KL, entropy': { kind: 'grpo', kl: 'k3', level: 'token', entropy: true },
  'sequence level, entropy': { kind: 'grpo', kl: 'none', level: 'sequence', entropy: true },
};

function inputsFor(objective: LossObjective, count: number): ObjectiveInputs {
  const vary = (scale: number, shift = 0) => Float32Array.from({ length: count }, (_, i) => scale * Math.sin(i * 1.7) + shift);
  if (objective.kind === 'supervised') return { perToken: { weight: vary(0.1, 0.2) }, scalars: {} };
  return {
    perToken: {
      weight: vary(0.05, 0.1), advantage: vary(1), old_logprob: vary(0.5, -3),
      ...(objective.level === 'sequence' ? { sequence_share: vary(0, 0.1) } : {}), ...(objective.kl === 'none' ? {} : { ref_logprob: vary(0.5, -3) }),
    },
    scalars: { clip_low: 0.2, clip_high: 0.28, clip_c: 3, entropy_coeff: 0.01, ...(objective.kl === 'none' ? {} : { kl_coef: 0.1 }) },
  };
}

/** Losses, log-probabilities and gradients of all micro-batches together. */
async function outcome(pass: Pass, model: PolicyWeights, objective: LossObjective, maxTokens: number) {
  const gradients = allocateBlock(model.trainable.tensors);
  gradients.flat.fill(NaN); // what is not written shows
  let loss = 0;
  const logprob: number[] = [];
  for (const [i, batch] of microBatches(rows, maxTokens, smallConfig).entries()) {
    const result = await pass.backward(batch, objective, inputsFor(objective, batch.origins.length), weightFeeds(model), gradients, i === 0 ? 'write' : 'add');
    const forward = await pass.forward(batch, weightFeeds(model));
    assert.deepEqual(forward.logprob, result.logprob);
    loss += result.loss;
    logprob.push(...result.logprob, ...result.entropy);
  }
  await pass.release();
  return { loss, logprob: Float32Array.from(logprob), gradients };
}

function difference(a: Float32Array, b: Float32Array): number { return a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0) / a.reduce((most, value) => Math.max(most, Math.abs(value)), 0); }

describe('layer by layer', () => {
  const lora = { rank: 3, alpha: 6, targets: ['q_proj', 'o_proj', 'down_proj'] as const, rslora: false };
  const models: Record<string, [DecoderConfig, PolicyWeights]> = {
    ...Object.fromEntries(Object.entries(configs).map(([name, config]) => [name, [config, wholeModel(smallWeights(config))]])),
    'llama with LoRA over float16': (() => {
      const config = configs['llama']!;
      const factors = initialFactors(config, lora, 1);
      factors.flat.forEach((value, i) => { factors.flat[i] = value === 0 ? 0.1 * Math.sin(i) : value; });
      return [config, { trainable: factors, frozen: { base: frozenBase(smallWeights(config), 'float16'), lora } }];
    })(),
  };
  it('gives the same bits whether activations are kept or computed again', async () => {
    for (const [config, model] of [models['qwen2']!, models['gemma2 with sliding windows and caps']!]) {
      const [kept, again] = [await outcome(new LayerPass(config, model.frozen, engine, { recompute: false }), model, objectives['supervised']!, 64), await outcome(new LayerPass(config, model.frozen, engine, { recompute: true }), model, objectives['supervised']!, 64)];
      assert.deepEqual(again, kept);
    }
  });
  for (const [name, [config, model]] of Object.entries(models)) {
    it(`gives the losses and gradients of the whole graph: ${name}`, async () => {
      for (const [kind, objective] of Object.entries(objectives)) {
        const maxTokens = kind === 'supervised' ? 64 : 1024;
        const expected = await outcome(new WholePass(config, model.frozen, engine), model, objective, maxTokens);
        for (const [recompute, logitsAtATime] of [[false, 2 ** 24], [true, 23 * 16]] as const) {
          const actual = await outcome(new LayerPass(config, model.frozen, engine, { recompute, logitsAtATime }), model, objective, maxTokens);
          const what = `${kind}, ${maxTokens} tokens, recompute ${recompute}, ${logitsAtATime} logits`;
          assert.ok(Math.abs(actual.loss - expected.loss) < 1e-5 * Math.max(1, Math.abs(expected.loss)), what);
          assert.ok(difference(expected.logprob, actual.logprob) < 1e-5, what);
          for (const [tensor, { data }] of expected.gradients.tensors) assert.ok(difference(data, actual.gradients.tensors.get(tensor)!.data) < 1e-4, `${tensor}: ${what}`);
        }
      }
    });
  }
});
