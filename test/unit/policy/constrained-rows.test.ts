import assert from 'node:assert/strict';
import { readVocabulary } from '../../../trainer/grammar/vocabulary.ts';
import { weightFeeds, wholeModel } from '../../../trainer/models/policy-weights.ts';
import { allocateBlock } from '../../../trainer/models/weights.ts';
import { withAllowedTokens } from '../../../trainer/policy/allowed-tokens.ts';
import { grpoUpdate } from '../../../trainer/policy/grpo-update.ts';
import { LayerPass } from '../../../trainer/policy/layer-pass.ts';
import { Learner } from '../../../trainer/policy/learner.ts';
import { microBatches, type TokenRow } from '../../../trainer/policy/micro-batches.ts';
import { OutputGrammars } from '../../../trainer/policy/output-grammar.ts';
import type { LossObjective, ObjectiveInputs } from '../../../trainer/policy/pass.ts';
import { rowLogprobs } from '../../../trainer/policy/row-logprobs.ts';
import type { TokenConstraint } from '../../../trainer/policy/sampling.ts';
import type { UpdateSettings } from '../../../trainer/protocol/policy.ts';
import { engine, randomTokens, smallConfig, smallWeights } from '../models/small-model.ts';
import { SamplerHarness } from './sampler-harness.ts';

const { vocab } = smallConfig;
const bits = (tokens: Iterable<number>) => [...tokens].reduce((mask, token) => mask | (1 << token), 0) >>> 0;
const everything = Uint32Array.of(bits(Array(vocab).keys()));

/** Allows another set of tokens at each place: all, about half, or one. */
function changing(seed: number): TokenConstraint & { given: Uint32Array[] } {
  const sets = randomTokens(60, seed).map((n, i) => (i % 4 === 3 ? bits([n]) : i % 4 === 2 ? everything[0]! : bits([n, ...randomTokens(8, seed + i)])));
  let at = 0;
  const given: Uint32Array[] = [];
  return { given, complete: false, allowed: () => Uint32Array.of(sets[at]!), accept: () => given.push(Uint32Array.of(sets[at++]!)) };
}

const settings: UpdateSettings = {
  lr: 1e-2, betas: [0.9, 0.95], weight_decay: 0, max_grad_norm: 1, clip_ratio_low: 0.2, clip_ratio_high: 0.28, clip_ratio_c: 3, importance_sampling_level: 'token', rollout_is: 'none',
  rollout_is_threshold: 2, entropy_coeff: 0.01, kl_loss_coef: 0.1, kl_loss_type: 'k3', micro_batch_tokens: 4096, ppo_epochs: 1,
};

describe('rows that were drawn under a format', () => {
  const weights = smallWeights();

  /** Rows as sampled, every second one under a constraint, with the sampler's log-probabilities and entropies of its tokens. */
  async function sampled(temperature: number) {
    const harness = new SamplerHarness(smallConfig, weights);
    const rows = [7, 12, 5, 9].map((length, id) => ({ id, prompt: randomTokens(length, id + 1), constraint: id % 2 ? changing(id) : null, temperature, max_tokens: 24, top_logprobs: vocab }));
    rows.forEach((row) => harness.submit(row));
    await harness.finish();
    await harness.model.release();
    return rows.map(({ id, prompt, constraint }) => {
      const { tokens: response, logprobs, alternatives } = harness.results.get(id)!;
      const entropies = alternatives.map((all) => -all.reduce((sum, { logprob }) => sum + Math.exp(logprob) * logprob, 0));
      const line = (values: readonly number[]) => [...prompt.map(() => 0), ...values];
      const row: TokenRow = {
        tokens: [...prompt, ...response], mask: line(response.map(() => 1)), temperature,
        ...(constraint ? { allowed: new Map(constraint.given.map((mask, n) => [prompt.length + n, mask])) } : {}),
      };
      return { row, logprobs: line(logprobs), entropies: line(entropies) };
    });
  }

  it('have the log-probabilities and entropies of the sampler: among the allowed tokens', async () => {
    for (const temperature of [1, 0.6]) {
      const all = await sampled(temperature);
      for (const logitsAtATime of [2 ** 24, vocab * 16]) {
        const pass = new LayerPass(smallConfig, null, engine, { recompute: false, logitsAtATime });
        for (const batch of microBatches(all.map(({ row }) => row), 4096, smallConfig)) {
          const { logprob, entropy } = await pass.forward(batch, Object.fromEntries(weights.tensors));
          batch.origins.forEach(({ row, at }, n) => {
            assert.ok(Math.abs(logprob[n]! - all[row]!.logprobs[at]!) < 1e-4, `${logprob[n]} and ${all[row]!.logprobs[at]}`);
            assert.ok(Math.abs(entropy[n]! - all[row]!.entropies[at]!) < 1e-4, `${entropy[n]} and ${all[row]!.entropies[at]}`);
          });
        }
        await pass.release();
      }
      const learner = new Learner(smallConfig, wholeModel(weights), engine);
      const [free] = await rowLogprobs(learner, [{ ...all[1]!.row, allowed: undefined }], 4096);
      await learner.release();
      assert.ok(free!.some((logprob, at) => Math.abs(logprob - all[1]!.logprobs[at]!) > 0.1), 'the masks make a difference');
    }
  });

  const objectives: Record<string, LossObjective> = {
    'token level': { kind: 'grpo', kl: 'k2', level: 'token', entropy: true },
    'sequence level': { kind: 'grpo', kl: 'k3', level: 'sequence', entropy: true },
  };
  for (const [name, objective] of Object.entries(objectives)) {
    it(`have the gradient of their loss, ${name}: central differences`, async () => {
      const rows = (await sampled(1)).map(({ row }) => row);
      const [batch] = microBatches(rows, 4096, smallConfig);
      const vary = (scale: number, shift = 0) => Float32Array.from(batch!.origins, (_, i) => scale * Math.sin(i * 1.7) + shift);
      const inputs: ObjectiveInputs = {
        perToken: { weight: vary(0.01, 0.02), advantage: vary(1), old_logprob: vary(0.3, -1), ref_logprob: vary(0.3, -1), ...(name === 'sequence level' ? { sequence_share: vary(0, 0.05) } : {}) },
        scalars: { clip_low: 0.9, clip_high: 20, clip_c: 1e3, entropy_coeff: 0.3, kl_coef: 0.1 },
      };
      const pass = new LayerPass(smallConfig, null, engine, { recompute: false, logitsAtATime: vocab * 32 });
      const moved = smallWeights();
      const gradients = allocateBlock(moved.tensors);
      const lossAt = async (step: number) => {
        moved.flat.set(weights.flat.map((w, i) => w + step * Math.sin(i)));
        return (await pass.backward(batch!, objective, inputs, weightFeeds(wholeModel(moved)), gradients, 'write')).loss;
      };
      const difference = (await lossAt(1e-3) - await lossAt(-1e-3)) / 2e-3;
      await lossAt(0);
      await pass.release();
      const slope = gradients.flat.reduce((sum, g, i) => sum + g * Math.sin(i), 0);
      assert.ok(Math.abs(difference) > 0.05 && Math.abs(slope - difference) < 0.01 * Math.abs(difference), `${slope} and ${difference}`);
    });
  }

  it('learn nothing where one token was possible, and as without masks where all were', async () => {
    const row = { tokens: randomTokens(20, 3), mask: Array.from({ length: 20 }, (_, t) => (t >= 8 ? 1 : 0)), temperature: 1 };
    const under = (allowed: (token: number) => Uint32Array): TokenRow => ({ ...row, allowed: new Map(row.tokens.map((token, at) => [at, allowed(token)])) });
    const run = async (given: TokenRow) => {
      const pass = new LayerPass(smallConfig, null, engine, { recompute: false });
      const gradients = allocateBlock(weights.tensors);
      const [batch] = microBatches([given], 4096, smallConfig);
      const weight = new Float32Array(batch!.origins.length).fill(0.1);
      const { logprob, entropy } = await pass.backward(batch!, { kind: 'supervised' }, { perToken: { weight }, scalars: {} }, Object.fromEntries(weights.tensors), gradients, 'write');
      await pass.release();
      return { logprob, entropy, gradient: gradients.flat };
    };
    const [none, one, all] = [await run(row), await run(under((token) => Uint32Array.of(bits([token])))), await run(under(() => everything))];
    for (const values of Object.values(one)) assert.ok(values.every((value) => value === 0));
    for (const part of ['logprob', 'entropy', 'gradient'] as const) all[part].forEach((value, i) => assert.ok(Math.abs(value - none[part][i]!) < 1e-6));
  });

  it('begin an update at ratio 1, and make good answers likelier among those that were possible', async () => {
    for (const level of ['token', 'sequence'] as const) {
      const learner = new Learner(smallConfig, wholeModel(smallWeights()), engine);
      const all = await sampled(1);
      const trained = all.reduce((sum, { row }) => sum + Array.from(row.mask).filter(Boolean).length, 0);
      const rows = all.map(({ row, logprobs }, i) => {
        const mask = Array.from(row.mask);
        return { ...row, tokens: Array.from(row.tokens), mask, old_logprobs: logprobs, advantages: mask.map((m) => m * (i < 2 ? 1 : -1)), weights: mask.map((m) => m / trained) };
      });
      const reference = smallWeights();
      const first = await grpoUpdate(learner, [rows], { ...settings, importance_sampling_level: level, rollout_is: 'token' }, reference);
      assert.ok(first.logprob_max_diff < 1e-4 && first.ratio_deviation < 1e-4 && Math.abs(first.kl!) < 1e-6 && first.grad_norm > 0.01, JSON.stringify(first));
      for (let i = 0; i < 4; i++) await grpoUpdate(learner, [rows], { ...settings, importance_sampling_level: level }, reference);
      const now = await rowLogprobs(learner, rows, 1024);
      const gain = rows.reduce((sum, row, i) => sum + row.advantages.reduce((s, a, t) => s + a * (now[i]![t]! - row.old_logprobs[t]!), 0), 0);
      assert.ok(gain > 0.5, String(gain));
      await learner.release();
    }
  });

  it('get their masks from the format and the tokens, equal ones once; a token that does not fit is refused', () => {
    const eos = 256;
    const vocabulary = readVocabulary(257, (id) => (id < eos ? Uint8Array.of(id) : undefined), [eos]);
    const grammars = new OutputGrammars(() => vocabulary);
    const format = JSON.stringify({ document: { schema: { type: 'array', items: { type: 'string', maxLength: 40 }, minItems: 1, maxItems: 1 }, name: null }, calls: null });
    const answer = [...Buffer.from('["hello"]')];
    const row = { tokens: [1, 2, ...answer, 7, ...answer], mask: [], temperature: 1, constraints: [{ start: 2, length: 9, format }, { start: 12, length: 4, format }] };
    const [free, made] = withAllowedTokens([{ tokens: [1], mask: [0], temperature: 1 }, row], grammars);
    assert.equal(free!.allowed, undefined);
    assert.deepEqual([...made!.allowed!.keys()], [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15]);
    const allowedAt = (at: number) => Array.from({ length: 257 }, (_, id) => id).filter((id) => (made!.allowed!.get(at)![id >> 5]! >>> (id & 31)) & 1);
    assert.deepEqual(allowedAt(2), [0x5b]);
    assert.ok(allowedAt(5).includes(0x65) && !allowedAt(5).includes(0x0a));
    assert.equal(made!.allowed!.get(5), made!.allowed!.get(6), 'one array within the string');
    assert.equal(made!.allowed!.get(2), made!.allowed!.get(12));
    assert.throws(() => withAllowedTokens([{ ...row, constraints: [{ start: 1, length: 3, format }] }], grammars), { code: 'bad_input', message: /row 0 .*does not allow token 2 at 1/ });
  });
});
