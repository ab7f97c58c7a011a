import assert from 'node:assert/strict';
import type { TrainRow, UpdateSettings } from '../../../trainer/protocol/policy.ts';
import { wholeModel } from '../../../trainer/models/policy-weights.ts';
import type { ParameterBlock } from '../../../trainer/models/weights.ts';
import { grpoUpdate } from '../../../trainer/policy/grpo-update.ts';
import { Learner } from '../../../trainer/policy/learner.ts';
import { rowLogprobs } from '../../../trainer/policy/row-logprobs.ts';
import { supervisedStep, trainSupervised } from '../../../trainer/policy/supervised.ts';
import { engine, randomTokens, smallConfig, smallWeights } from '../models/small-model.ts';

const settings: UpdateSettings = {
  lr: 1e-3, betas: [0.9, 0.95], weight_decay: 0, max_grad_norm: 1, clip_ratio_low: 0.2, clip_ratio_high: 0.28,
  clip_ratio_c: 3, importance_sampling_level: 'token', rollout_is: 'none', rollout_is_threshold: 2,
  entropy_coeff: 0, kl_loss_coef: 0, kl_loss_type: 'k3', micro_batch_tokens: 128, ppo_epochs: 1,
};

describe('policy update', () => {
  const learners: Learner[] = [];
  const learner = (seed = 1) => {
    const made = new Learner(smallConfig, wholeModel(smallWeights(smallConfig, seed)), engine);
    learners.push(made);
    return made;
  };
  afterEach(async () => { for (const made of learners.splice(0)) await made.release(); });

  /** Rows as the sampler would give them: prompts of different lengths, advantages that sum to 0, token-mean weights. */
  async function rowsOf(from: Learner, temperature = 1): Promise<TrainRow[]> {
    const bare = [5, 9, 20, 33, 12, 7].map((length, i) => ({ tokens: randomTokens(length, i + 1), mask: Array.from({ length }, (_, t) => (t >= Math.ceil(length / 2) ? 1 : 0)), temperature }));
    const old = await rowLogprobs(from, bare, 1024);
    const trained = bare.flatMap(({ mask }) => mask).filter(Boolean).length;
    return bare.map((row, i) => ({
      ...row,
      advantages: row.mask.map((m) => m * (i % 2 === 0 ? 1 : -1)),
      old_logprobs: [...old[i]!],
      weights: row.mask.map((m) => m / trained),
    }));
  }

  it('starts on-policy: ratio 1, loss -Σ w·A, a gradient that is not 0', async () => {
    for (const temperature of [1, 0.6]) {
      const it = learner();
      const rows = await rowsOf(it, temperature);
      const expected = -rows.reduce((sum, row) => sum + row.weights.reduce((s, w, t) => s + w * row.advantages[t]!, 0), 0);
      const metrics = await grpoUpdate(it, [rows], settings, null);
      assert.ok(Math.abs(metrics.loss - expected) < 1e-5);
      assert.ok(metrics.ratio_deviation < 1e-5 && metrics.logprob_max_diff < 1e-5);
      assert.ok(metrics.grad_norm > 0.01);
      assert.equal(metrics.clip_fraction, 0);
      assert.equal(metrics.kl, null);
      assert.equal(metrics.trained_tokens, rows.flatMap(({ mask }) => mask).filter(Boolean).length);
      assert.ok(metrics.entropy > 0 && metrics.entropy < Math.log(smallConfig.vocab));
    }
  });

  it('makes good tokens likelier and bad ones less likely', async () => {
    const it = learner();
    const rows = await rowsOf(it);
    for (let i = 0; i < 5; i++) await grpoUpdate(it, [rows], settings, null);
    const now = await rowLogprobs(it, rows, 1024);
    const gain = rows.map((row, i) => row.advantages.reduce((sum, a, t) => sum + a * (now[i]![t]! - row.old_logprobs[t]!), 0));
    assert.ok(gain.reduce((a, b) => a + b, 0) > 0.1, String(gain));
  });

  it('does the same whatever the micro-batches', async () => {
    const [whole, parts] = [learner(), learner()];
    const rows = await rowsOf(whole);
    const a = await grpoUpdate(whole, [rows], { ...settings, micro_batch_tokens: 4096 }, null);
    const b = await grpoUpdate(parts, [rows], { ...settings, micro_batch_tokens: 64 }, null);
    assert.ok(Math.abs(a.grad_norm - b.grad_norm) < 1e-5 && Math.abs(a.loss - b.loss) < 1e-6);
    whole.weights.flat.forEach((w, i) => assert.ok(Math.abs(w - parts.weights.flat[i]!) < 1e-3 * 0.05));
  });

  it('does not look at values of tokens that are not trained', async () => {
    const [a, b] = [learner(), learner()];
    const rows = await rowsOf(a);
    const changed = rows.map((row) => ({
      ...row,
      old_logprobs: row.old_logprobs.map((x, t) => (row.mask[t] ? x : x + 5)),
      advantages: row.advantages.map((x, t) => (row.mask[t] ? x : 100)),
      weights: row.weights.map((x, t) => (row.mask[t] ? x : 1)),
    }));
    assert.deepEqual(await grpoUpdate(a, [rows], settings, null), await grpoUpdate(b, [changed], settings, null));
    assert.deepEqual(a.weights.flat, b.weights.flat);
  });

  it('pulls towards the reference with a KL term', async () => {
    const it = learner();
    const rows = (await rowsOf(it)).map((row) => ({ ...row, advantages: row.advantages.map(() => 0) }));
    const reference = smallWeights(smallConfig, 1);
    reference.flat.forEach((w, i) => { reference.flat[i] = w * 0.9; });
    const kl: number[] = [];
    for (let i = 0; i < 8; i++) kl.push((await grpoUpdate(it, [rows], { ...settings, kl_loss_coef: 1, kl_loss_type: 'k2' }, reference)).kl!);
    assert.ok(kl[0]! > 1e-3 && kl.at(-1)! < kl[0]! * 0.8, String(kl));
    await assert.rejects(grpoUpdate(it, [rows], { ...settings, kl_loss_coef: 1 }, null), /Call setReference/);
  });

  it('makes one optimiser step per epoch; later epochs see moved weights', async () => {
    const it = learner();
    const rows = await rowsOf(it);
    const metrics = await grpoUpdate(it, [rows], { ...settings, lr: 0.02, ppo_epochs: 4 }, null);
    assert.equal(it.optimizerState!.step, 4);
    assert.ok(metrics.clip_fraction > 0);
    assert.ok(metrics.ratio_deviation < 1e-5, 'of the first epoch');
  });

  it('makes an optimiser step per mini-batch, the same as updates one after the other', async () => {
    const [together, apart] = [learner(), learner()];
    const rows = await rowsOf(together);
    const parts = [rows.slice(0, 4), rows.slice(4)];
    const metrics = await grpoUpdate(together, parts, settings, null);
    const each = [await grpoUpdate(apart, [parts[0]!], settings, null), await grpoUpdate(apart, [parts[1]!], settings, null)];
    assert.equal(together.optimizerState!.step, 2);
    assert.deepEqual(together.weights.flat, apart.weights.flat);
    assert.equal(metrics.trained_tokens, each[0]!.trained_tokens + each[1]!.trained_tokens);
    assert.equal(metrics.grad_norm, (each[0]!.grad_norm + each[1]!.grad_norm) / 2);
    assert.equal(metrics.ratio_deviation, each[0]!.ratio_deviation, 'before the weights move');
  });

  it('weighs samples of another policy once: truncated, outside the gradient, the clipped ratio beginning at 1', async () => {
    // As if the sampler had been 1 nat less sure of every token of even rows, and 0.2 nats surer of the others': raw weights e and e^-0.2.
    const shift = (i: number) => (i % 2 === 0 ? -1 : 0.2);
    const stale = (rows: TrainRow[]) => rows.map((row, i) => ({ ...row, old_logprobs: row.old_logprobs.map((x, t) => (row.mask[t] ? x + shift(i) : 0)) }));
    const weighed = (rows: TrainRow[], by: (length: number, i: number) => number) => rows.map((row, i) => ({ ...row, advantages: row.advantages.map((x) => x * by(row.mask.filter(Boolean).length, i)) }));
    for (const [rollout_is, by] of [['token', (_: number, i: number) => Math.min(2, Math.exp(-shift(i)))], ['sequence', (length: number, i: number) => Math.min(2, Math.exp(-shift(i) * length))]] as const) {
      const [corrected, onPolicy] = [learner(), learner()];
      const rows = await rowsOf(corrected);
      const a = await grpoUpdate(corrected, [stale(rows)], { ...settings, rollout_is }, null);
      const b = await grpoUpdate(onPolicy, [weighed(rows, by)], settings, null);
      assert.ok(Math.abs(a.loss - b.loss) < 1e-5 && Math.abs(a.grad_norm - b.grad_norm) < 1e-4, `${rollout_is}: ${a.loss} ${b.loss}, ${a.grad_norm} ${b.grad_norm}`);
      assert.equal(a.clip_fraction, 0);
      assert.ok(Math.abs(a.logprob_max_diff - 1) < 1e-4, 'still told');
    }
    // Without it the clipped ratio itself corrects: e is beyond the clip, so the tokens of even rows teach nothing.
    const bypass = learner();
    const rows = stale(await rowsOf(bypass));
    const even = rows.flatMap(({ mask }, i) => (i % 2 === 0 ? mask : [])).filter(Boolean).length;
    const metrics = await grpoUpdate(bypass, [rows], settings, null);
    assert.ok(Math.abs(metrics.clip_fraction - even / metrics.trained_tokens) < 1e-12);
  });

  it('GSPO and the entropy bonus learn too; the bonus spreads the distribution', async () => {
    const gspo = learner();
    const rows = await rowsOf(gspo);
    for (let i = 0; i < 5; i++) await grpoUpdate(gspo, [rows], { ...settings, importance_sampling_level: 'sequence' }, null);
    const now = await rowLogprobs(gspo, rows, 1024);
    assert.ok(rows.reduce((sum, row, i) => sum + row.advantages.reduce((s, a, t) => s + a * (now[i]![t]! - row.old_logprobs[t]!), 0), 0) > 0.1);

    const spread = learner();
    const idle = rows.map((row) => ({ ...row, advantages: row.advantages.map(() => 0) }));
    const entropies: number[] = [];
    for (let i = 0; i < 8; i++) entropies.push((await grpoUpdate(spread, [idle], { ...settings, entropy_coeff: 1 }, null)).entropy);
    assert.ok(entropies.at(-1)! > entropies[0]! + 0.05, String(entropies));
  });

  it('refuses what is not a number and leaves the weights alone', async () => {
    const it = learner();
    const rows = await rowsOf(it);
    const before = it.weights.flat.slice();
    const bad = (change: (row: TrainRow) => Partial<TrainRow>, message: RegExp) =>
      assert.rejects(grpoUpdate(it, [rows.map((row, i) => (i === 2 ? { ...row, ...change(row) } : row))], settings, null), message);
    await bad((row) => ({ advantages: row.advantages.map(() => NaN) }), /row 2 .*advantages\[0\] is NaN/);
    await bad((row) => ({ old_logprobs: [...row.old_logprobs.slice(1), -Infinity] }), /old_logprobs\[19\] is -Infinity/);
    await bad(() => ({ weights: [1] }), /20 tokens but 1 weights/);
    await bad((row) => ({ mask: row.mask.map(() => 1) }), /first token is trained/);
    await assert.rejects(grpoUpdate(it, [rows.map((row) => ({ ...row, mask: row.mask.map(() => 0) }))], settings, null), /None of the rows/);
    assert.deepEqual(it.weights.flat, before);
  });

  it('does not step on a gradient that is not finite, and undoes earlier epochs', async () => {
    const it = learner();
    const rows = await rowsOf(it);
    await grpoUpdate(it, [rows], settings, null);
    const before = it.snapshot();
    const huge = rows.map((row) => ({ ...row, advantages: row.advantages.map((a) => a * 1e38), weights: row.weights.map((w) => w * 1e30) }));
    await assert.rejects(grpoUpdate(it, [huge], settings, null), { name: 'TrainerError', code: 'numeric', message: /The first that is not finite: the loss itself/ });
    assert.deepEqual(it.snapshot(), before);
    // The first epoch is fine; the leap it makes breaks the second.
    await assert.rejects(grpoUpdate(it, [rows], { ...settings, lr: 1e30, ppo_epochs: 2 }, null), { code: 'numeric' });
    assert.deepEqual(it.snapshot(), before);
    const metrics = await grpoUpdate(it, [rows], settings, null);
    assert.ok(Number.isFinite(metrics.loss));
  });
});

describe('numbers that are not finite', () => {
  const cases: [what: string, poison: (weights: ParameterBlock) => void, first: RegExp][] = [
    ['a parameter', (weights) => { weights.tensors.get('model.layers.1.mlp.up_proj.weight')!.data[3] = NaN; }, /the weights model\.layers\.1\.mlp\.up_proj\.weight/],
    ['an activation', (weights) => { weights.tensors.get('model.layers.1.mlp.down_proj.weight')!.data.fill(3e38); }, /the result of model\.layers\.1/],
    ['the logits', (weights) => { weights.tensors.get('model.norm.weight')!.data.fill(3e38); }, /the logits/],
  ];
  for (const execution of ['whole', 'layers', 'recompute'] as const) {
    for (const [what, poison, first] of cases) {
      it(`are traced to ${what} (${execution}), and nothing is changed`, async () => {
        const weights = smallWeights(smallConfig, 1);
        const it = new Learner(smallConfig, wholeModel(weights), engine, execution);
        poison(weights);
        const before = it.snapshot();
        const rows = [{ tokens: randomTokens(20, 1), mask: Array.from({ length: 20 }, (_, t) => Math.min(t, 1)) }];
        await assert.rejects(supervisedStep(it, rows, { ...settings, micro_batch_tokens: 64 }), { name: 'TrainerError', code: 'numeric', message: first });
        assert.deepEqual(it.snapshot(), before);
        await it.release();
      });
    }
  }
});

describe('supervised training', () => {
  it('learns and repeats bit for bit', async () => {
    const run = async () => {
      const weights = smallWeights();
      const losses: number[] = [];
      await trainSupervised({
        config: smallConfig, weights, engine,
        settings: { steps: 12, lr: 0.01, warmup_steps: 3, final_lr_share: 0.1, betas: [0.9, 0.95], weight_decay: 0.01, max_grad_norm: 1, micro_batch_tokens: 256 },
        batch: () => [1, 2, 3, 4].map((seed) => { const tokens = randomTokens(10 + seed, seed); return { tokens, mask: tokens.map((_, i) => (i > 0 ? 1 : 0)) }; }),
        onStep: ({ loss, step, tokens }) => {
          losses.push(loss);
          assert.equal(step, losses.length);
          assert.equal(tokens, 46);
        },
      });
      return { losses, weights };
    };
    const first = await run();
    assert.ok(first.losses.at(-1)! < first.losses[0]! * 0.8, String(first.losses));
    assert.deepEqual(await run(), first);
  });
});
