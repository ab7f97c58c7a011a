import assert from 'node:assert/strict';
import { decoderConfig } from '../../../trainer/models/decoder-config.ts';
import { wholeModel } from '../../../trainer/models/policy-weights.ts';
import type { ParameterBlock } from '../../../trainer/models/weights.ts';
import { dpoStep } from '../../../trainer/policy/dpo.ts';
import { Learner } from '../../../trainer/policy/learner.ts';
import type { PreferencePair, ScoredRow } from '../../../trainer/protocol/policy.ts';
import { referenceLogprobs } from '../models/reference.ts';
import { engine, randomTokens, smallWeights } from '../models/small-model.ts';

const config = decoderConfig('qwen2', { vocab: 7, hidden: 4, intermediate: 6, layers: 1, heads: 2, kvHeads: 1, headDim: 2, contextLength: 32 }, { eosIds: [2] });
const settings = { lr: 1e-3, betas: [0.9, 0.95] as [number, number], weight_decay: 0, max_grad_norm: 1e9, micro_batch_tokens: 64, beta: 0.3 };

const row = (length: number, seed: number): ScoredRow => ({ tokens: randomTokens(length, seed, config.vocab), mask: Array.from({ length }, (_, t) => (t >= 2 ? 1 : 0)), temperature: 1 });
const pairs: PreferencePair[] = [
  { chosen: [row(5, 1)], rejected: [row(7, 2)] },
  { chosen: [row(4, 3), row(6, 4)], rejected: [row(5, 5)] }, // a chosen answer of two rows
];

/** In float64, from the formula of the paper. */
function hand(weights: ParameterBlock, reference: ParameterBlock) {
  const logprob = (of: ParameterBlock, rows: ScoredRow[]) => rows.reduce((sum, { tokens, mask }) => sum + referenceLogprobs(config, of, tokens).reduce((s, value, t) => s + value * mask[t]!, 0), 0);
  const margins = pairs.map(({ chosen, rejected }) => settings.beta * ((logprob(weights, chosen) - logprob(reference, chosen)) - (logprob(weights, rejected) - logprob(reference, rejected))));
  return { margins, loss: margins.reduce((sum, h) => sum - Math.log(1 / (1 + Math.exp(-h))), 0) / margins.length };
}

describe('direct preference optimisation', () => {
  const reference = smallWeights(config, 9);
  let learner: Learner;
  beforeEach(() => { learner = new Learner(config, wholeModel(smallWeights(config, 1)), engine); });
  afterEach(() => learner.release());

  it('has the loss of the formula and steps along its gradient', async () => {
    const before = smallWeights(config, 1);
    const expected = hand(before, reference);
    const slopes = Array.from(before.flat, (_, i) => {
      const h = 1e-3;
      const at = (shift: number) => {
        const weights = smallWeights(config, 1);
        weights.flat[i] = weights.flat[i]! + shift;
        return { loss: hand(weights, reference).loss, moved: weights.flat[i] };
      };
      const [up, down] = [at(h), at(-h)];
      return (up.loss - down.loss) / (up.moved - down.moved);
    });

    const metrics = await dpoStep(learner, pairs, settings, reference);
    near(metrics.loss, expected.loss, 1e-5);
    near(metrics.margin, (expected.margins[0]! + expected.margins[1]!) / 2, 1e-5);
    assert.equal(metrics.accuracy, expected.margins.filter((margin) => margin > 0).length / 2);
    assert.equal(metrics.trained_tokens, 3 + 5 + 2 + 4 + 3);
    near(metrics.grad_norm, Math.sqrt(slopes.reduce((sum, slope) => sum + slope ** 2, 0)), 1e-3);
    // The first step of AdamW goes lr against the sign of each gradient.
    slopes.forEach((slope, i) => { if (Math.abs(slope) > 1e-3) near(learner.weights.flat[i]! - before.flat[i]!, -settings.lr * Math.sign(slope), 2e-5); });
  });

  it('begins at log 2 with the reference itself, and learns the preference', async () => {
    const start = smallWeights(config, 1);
    const steps = [];
    for (let i = 0; i < 20; i++) steps.push(await dpoStep(learner, pairs, { ...settings, lr: 0.01 }, start));
    near(steps[0]!.loss, Math.log(2), 1e-6);
    assert.equal(steps[0]!.accuracy, 0, 'undecided is not right');
    assert.equal(steps.at(-1)!.accuracy, 1);
    assert.ok(steps.at(-1)!.loss < 0.5 && steps.at(-1)!.margin > 0.3, JSON.stringify(steps.at(-1)));
  });

  it('does the same whatever the micro-batches', async () => {
    const other = new Learner(config, wholeModel(smallWeights(config, 1)), engine);
    const [a, b] = [await dpoStep(learner, pairs, settings, reference), await dpoStep(other, pairs, { ...settings, micro_batch_tokens: 1024 }, reference)];
    await other.release();
    near(a.loss, b.loss, 1e-6);
    near(a.grad_norm, b.grad_norm, 1e-5);
  });
});

function near(actual: number, expected: number, tolerance: number): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`);
}
