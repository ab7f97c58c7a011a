import assert from 'node:assert/strict';
import { uniforms } from '../../../trainer/policy/random.ts';
import { distribution, mostLikely as mostLikelyOf, pickToken as pick, type SamplingParameters } from '../../../trainer/policy/sampling.ts';

const all: SamplingParameters = { temperature: 1, top_p: 1, top_k: 0 };
const logits = Float32Array.of(2, 0, 1, -1);
const pickToken = (scores: Float32Array, parameters: SamplingParameters, u: number) => pick(distribution(scores, parameters.temperature), parameters, u);
const mostLikely = (scores: Float32Array, temperature: number, count: number) => mostLikelyOf(distribution(scores, temperature), temperature, count);

describe('token sampling', () => {
  const near = (actual: number, expected: number, tolerance = 1e-5) => assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`);

  it('reports log-probabilities after temperature', () => {
    const two = Float32Array.of(2, 0);
    near(pickToken(two, all, 0).logprob, -0.12693);
    near(pickToken(two, { ...all, temperature: 0.5 }, 0).logprob, -0.01815);
    near(pickToken(two, all, 0.99).logprob, -2.12693);
  });

  it('draws with the probabilities it reports', () => {
    for (const parameters of [all, { ...all, temperature: 2 }, { ...all, top_k: 2 }, { ...all, top_p: 0.8 }, { ...all, temperature: 1.5, top_k: 3, top_p: 0.9 }]) {
      const uniform = uniforms(7);
      const seen = new Map<number, { count: number; logprob: number }>();
      const draws = 20_000;
      for (let i = 0; i < draws; i++) {
        const { token, logprob } = pickToken(logits, parameters, uniform());
        const entry = seen.get(token) ?? { count: 0, logprob };
        assert.equal(entry.logprob, logprob);
        seen.set(token, { ...entry, count: entry.count + 1 });
      }
      near([...seen.values()].reduce((sum, { logprob }) => sum + Math.exp(logprob), 0), 1, 1e-9);
      for (const { count, logprob } of seen.values()) {
        const p = Math.exp(logprob);
        near(count / draws, p, 4.5 * Math.sqrt((p * (1 - p)) / draws) + 1e-9);
      }
    }
  });

  it('top-k keeps the k most likely, top-p the smallest set that reaches p', () => {
    const kept = (parameters: Partial<SamplingParameters>) => {
      const tokens = Array.from({ length: 1000 }, (_, i) => pickToken(logits, { ...all, ...parameters }, i / 1000).token);
      return [...new Set(tokens)].sort();
    };
    // probabilities 0.644, 0.087, 0.237, 0.032
    assert.deepEqual(kept({}), [0, 1, 2, 3]);
    assert.deepEqual(kept({ top_k: 2 }), [0, 2]);
    assert.deepEqual(kept({ top_k: 9 }), [0, 1, 2, 3]);
    assert.deepEqual(kept({ top_p: 0.6 }), [0]);
    assert.deepEqual(kept({ top_p: 0.65 }), [0, 2]);
    assert.deepEqual(kept({ top_p: 0.9 }), [0, 1, 2]);
    assert.deepEqual(kept({ top_p: 1e-9 }), [0]);
    near(pickToken(logits, { ...all, top_k: 2 }, 0).logprob, Math.log(Math.E / (Math.E + 1)));
  });

  it('greedy takes the most likely, the lower id on a tie, with its log-probability at temperature 1', () => {
    assert.deepEqual(pickToken(Float32Array.of(1, 3, 3), { ...all, temperature: 0 }, 0.99).token, 1);
    near(pickToken(logits, { ...all, temperature: 0 }, 0.5).logprob, -0.44019);
  });

  it('stays inside the distribution at its ends', () => {
    assert.equal(pickToken(Float32Array.of(-50, 0, -60), all, 1 - 2 ** -53).token, 1);
    assert.equal(pickToken(Float32Array.of(0, -1e9), all, 1 - 2 ** -53).token, 0);
  });

  it('refuses logits that are not finite', () => {
    assert.throws(() => pickToken(Float32Array.of(1, NaN), all, 0), { name: 'TrainerError', code: 'numeric' });
    assert.throws(() => pickToken(Float32Array.of(1, Infinity), { ...all, temperature: 0 }, 0), { code: 'numeric' });
  });

  it('lists the most likely tokens', () => {
    const [first, second] = mostLikely(logits, 1, 2);
    assert.equal(first!.token, 0);
    assert.equal(second!.token, 2);
    near(first!.logprob, -0.44019);
    near(second!.logprob, -1.44019);
  });
});

describe('random numbers of a request', () => {
  it('follow the seed alone', () => {
    const take = (seed: number) => { const u = uniforms(seed); return Array.from({ length: 5 }, u); };
    assert.deepEqual(take(3), take(3));
    assert.notDeepEqual(take(3), take(4));
    assert.notDeepEqual(take(2 ** 40 + 1), take(1));
    assert.notDeepEqual(take(-1), take(1));
  });

  it('are unrelated for neighbouring seeds', () => {
    const firsts = Array.from({ length: 4000 }, (_, seed) => uniforms(seed)());
    const mean = firsts.reduce((a, b) => a + b, 0) / firsts.length;
    const lag = firsts.slice(1).reduce((sum, x, i) => sum + (x - 0.5) * (firsts[i]! - 0.5), 0) / firsts.length / (1 / 12);
    assert.ok(firsts.every((x) => x >= 0 && x < 1));
    assert.ok(Math.abs(mean - 0.5) < 0.02, String(mean));
    assert.ok(Math.abs(lag) < 0.06, String(lag));
  });
});
