import assert from 'node:assert/strict';
import type { KlType } from '../../../trainer/models/policy-loss.ts';
import { randomTokens, runRow, smallWeights } from './small-model.ts';

/** A row of two tokens has one trained token; the sampler's log-probability is set so that the ratio is the one wanted. */
async function lossAt({ ratio, advantage, low = 0.2, high = 0.2, kl = 'none', reference = 0, coefficient = 1 }: {
  ratio: number; advantage: number; low?: number; high?: number; kl?: KlType; reference?: number; coefficient?: number;
}) {
  const weights = smallWeights();
  const tokens = randomTokens(2, 1);
  const now = (await runRow({ weights, tokens, objective: { kind: 'logprobs' } }))['logprob']![0]!;
  const result = await runRow({
    weights, tokens, objective: { kind: 'grpo', kl, level: 'token', entropy: false },
    perToken: { weight: [1], advantage: [advantage], old_logprob: [now - Math.log(ratio)], ...(kl === 'none' ? {} : { ref_logprob: [now - reference] }) },
    scalars: { clip_low: low, clip_high: high, clip_c: 3, ...(kl === 'none' ? {} : { kl_coef: coefficient }) },
  });
  const slope = Math.max(...Object.entries(result).filter(([name]) => name.startsWith('grad ')).map(([, g]) => Math.max(...g.map(Math.abs))));
  return { loss: result['loss']![0]!, slope, result };
}

describe('GRPO loss', () => {
  it('clips above: no gradient beyond 1 + high', async () => {
    const symmetric = await lossAt({ ratio: 1.5, advantage: 1 });
    near(symmetric.loss, -1.2);
    assert.equal(symmetric.slope, 0);
    near((await lossAt({ ratio: 1.5, advantage: 1, high: 0.28 })).loss, -1.28);
  });

  it('clips below: no gradient under 1 - low for a bad token', async () => {
    const { loss, slope } = await lossAt({ ratio: 0.5, advantage: -1 });
    near(loss, 0.8);
    assert.equal(slope, 0);
  });

  it('lets the gradient flow where the step would make things better', async () => {
    const { loss, slope } = await lossAt({ ratio: 1.5, advantage: -1 });
    near(loss, 1.5);
    assert.ok(slope > 1e-3);
    const low = await lossAt({ ratio: 0.5, advantage: 1 });
    near(low.loss, -0.5);
    assert.ok(low.slope > 1e-3);
  });

  it('at ratio 1 has the gradient of -A·logp', async () => {
    const { loss, result } = await lossAt({ ratio: 1, advantage: 0.7 });
    near(loss, -0.7);
    const weights = smallWeights();
    const plain = await runRow({ weights, tokens: randomTokens(2, 1), objective: { kind: 'supervised' }, perToken: { weight: [0.7] } });
    for (const name of weights.tensors.keys()) {
      result[`grad ${name}`]!.forEach((g, i) => near(g, plain[`grad ${name}`]![i]!, 1e-5));
    }
  });

  it('dual clip: a bad token that became likely loses its gradient at c times -A, a good one never', async () => {
    const bad = await lossAt({ ratio: 5, advantage: -1 });
    near(bad.loss, 3);
    assert.equal(bad.slope, 0);
    const within = await lossAt({ ratio: 2.5, advantage: -2 });
    near(within.loss, 5);
    assert.ok(within.slope > 1e-3);
    near((await lossAt({ ratio: 0.1, advantage: 1 })).loss, -0.1);
  });

  it('adds k1, k2 and k3 estimates of the KL divergence', async () => {
    const kl = async (kind: KlType) => (await lossAt({ ratio: 1, advantage: 0, kl: kind, reference: 0.5 })).loss;
    near(await kl('k1'), 0.5);
    near(await kl('k2'), 0.125);
    near(await kl('k3'), 0.106531);
    const far = await lossAt({ ratio: 1, advantage: 0, kl: 'k3', reference: -9 });
    near(far.loss, 10);
    assert.equal(far.slope, 0);
    near((await lossAt({ ratio: 1, advantage: 1, kl: 'k2', reference: 0.5, coefficient: 0.1 })).loss, -1 + 0.0125);
  });

  it('stays finite when sampler and trainer disagree wildly', async () => {
    const { loss, slope } = await lossAt({ ratio: Math.exp(60), advantage: -1 });
    assert.ok(Number.isFinite(loss) && Number.isFinite(slope));
  });
});

function near(actual: number, expected: number, tolerance = 2e-5): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`);
}
