import assert from 'node:assert/strict';
import { compile } from '../../../trainer/engine/executor.ts';
import { wrap } from '../../../trainer/engine/tensor.ts';
import type { KlType, PolicyObjective } from '../../../trainer/models/policy-loss.ts';
import { trainingGraph } from '../../../trainer/models/training-graph.ts';
import type { ParameterBlock } from '../../../trainer/models/weights.ts';
import { referenceLogits, softmax } from './reference.ts';
import { engine, randomTokens, runRow, smallConfig, smallWeights, unpacked } from './small-model.ts';

const base: PolicyObjective = { kind: 'grpo', kl: 'none', level: 'token', entropy: false };
const clip = { clip_low: 0.2, clip_high: 0.28, clip_c: 3 };

/** Several rows of a token each and one trained token after it. */
async function run(weights: ParameterBlock, rows: { prompt: number; target: number }[], objective: PolicyObjective, perToken: Record<string, number[]>, scalars: Record<string, number>, sequence?: number[]) {
  const n = rows.length;
  const session = await compile(trainingGraph(smallConfig, { batch: n, length: 2, trained: n }, objective), engine);
  const int = (values: number[]) => wrap('int32', [n], Int32Array.from(values));
  const result = await session.run({
    ...Object.fromEntries(weights.tensors),
    tokens: wrap('int32', [n, 2], Int32Array.from(rows.flatMap(({ prompt, target }) => [prompt, target]))),
    ...unpacked(n, 2), position: int(rows.map((_, i) => 2 * i)), target: int(rows.map(({ target }) => target)),
    inv_temperature: wrap('float32', [n], new Float32Array(n).fill(1)),
    ...(sequence ? { sequence: int(sequence) } : {}),
    ...Object.fromEntries(Object.entries(perToken).map(([name, values]) => [name, wrap('float32', [n], Float32Array.from(values))])),
    ...Object.fromEntries(Object.entries(scalars).map(([name, value]) => [name, wrap('float32', [], Float32Array.of(value))])),
  });
  await session.release();
  return (name: string) => Array.from(result[name]!.data, Number);
}

/** d f / d weight by central difference, where f is computed in float64 from the formulas of the model. */
function slope(f: (weights: ParameterBlock) => number, name: string, index: number): number {
  const h = 1e-3;
  const at = (shift: number) => {
    const weights = smallWeights();
    const { data } = weights.tensors.get(name)!;
    data[index] = data[index]! + shift;
    return { value: f(weights), moved: data[index] };
  };
  const [up, down] = [at(h), at(-h)];
  return (up.value - down.value) / (up.moved - down.moved);
}

const places = [['model.norm.weight', 3], ['model.embed_tokens.weight', 40], ['model.layers.0.mlp.down_proj.weight', 17], ['model.layers.1.self_attn.o_proj.weight', 5]] as const;

function near(actual: number, expected: number, tolerance = 2e-5): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`);
}

describe('policy loss', () => {
  it('GSPO: the ratio of a row is the geometric mean of its tokens\', and clips the row as a whole', async () => {
    const weights = smallWeights();
    const rows = [0, 1, 2, 3].map((i) => ({ prompt: i + 4, target: 2 * i + 1 }));
    const ones = rows.map(() => 1);
    const now = (await run(weights, rows, base, { weight: ones, advantage: ones, old_logprob: ones.map(() => 0) }, clip))('logprob');
    // Tokens 0, 1 and 2 are one row, token 3 another.
    const logRatios = [0.1, -0.05, 0.2, 0.04];
    const loss = async (advantage: number[], scalars: typeof clip, shifts = logRatios) => run(weights, rows, { ...base, level: 'sequence' }, {
      weight: [1 / 6, 1 / 6, 1 / 6, 1 / 2], advantage, old_logprob: now.map((logprob, i) => logprob - shifts[i]!), sequence_share: [1 / 3, 1 / 3, 1 / 3, 1],
    }, scalars, [0, 0, 0, 1]);
    const ratio = 1.086904; // exp((0.1 - 0.05 + 0.2) / 3)
    near((await loss([1, 1, 1, 0], clip))('loss')[0]!, -ratio / 2);
    near((await loss([1, 1, 1, -1], clip))('loss')[0]!, -ratio / 2 + Math.exp(0.04) / 2);
    // As a row it is beyond 1 + 4e-4: no token has a gradient, not even the one whose own ratio is below 1.
    const clipped = await loss([1, 1, 1, 0], { ...clip, clip_low: 3e-4, clip_high: 4e-4 });
    near(clipped('loss')[0]!, -1.0004 / 2);
    assert.ok(places.every(([name]) => clipped(`grad ${name}`).every((g) => g === 0)));
    // The gradient of a row is its ratio times the mean of its tokens' gradients: that of weights ratio/3 each, halved.
    const free = await loss([1, 1, 1, 0], clip);
    const plain = await run(weights, rows, base, { weight: [ratio / 6, ratio / 6, ratio / 6, 0], advantage: ones, old_logprob: now }, clip);
    for (const [name] of places) plain(`grad ${name}`).forEach((g, i) => near(free(`grad ${name}`)[i]!, g, 2e-5));
  });

  it('the entropy bonus has the gradient of the entropy', async () => {
    const weights = smallWeights();
    const tokens = randomTokens(4, 3);
    const entropyOf = (of: ParameterBlock) => referenceLogits(smallConfig, of, tokens.slice(0, -1)).reduce((sum, logits) => sum - softmax(logits).reduce((s, p) => s + p * Math.log(p), 0), 0);
    const zeros = [0, 0, 0];
    const result = await runRow({ weights, tokens, objective: { ...base, entropy: true }, perToken: { weight: [1, 1, 1], advantage: zeros, old_logprob: zeros }, scalars: { ...clip, entropy_coeff: 0.5 } });
    near(result['loss']![0]!, -0.5 * entropyOf(weights), 1e-4);
    for (const [name, index] of places) near(result[`grad ${name}`]![index]!, -0.5 * slope(entropyOf, name, index), 2e-3);
  });

  it('on-policy, k1 has no expected gradient, k2 that of KL(policy || reference), k3 that of KL(reference || policy)', async () => {
    const weights = smallWeights();
    const reference = smallWeights();
    reference.flat.forEach((w, i) => { reference.flat[i] = w * 0.6; });
    const distribution = (of: ParameterBlock) => softmax(referenceLogits(smallConfig, of, [5])[0]!);
    const q = distribution(reference);
    const p0 = distribution(weights);
    const divergence = (a: number[], b: number[]) => a.reduce((sum, p, i) => sum + p * Math.log(p / b[i]!), 0);
    const all = q.map((_, target) => ({ prompt: 5, target }));
    // Every token once, weighted by its probability: the expectation itself.
    const expected = async (kl: KlType) => run(weights, all, { ...base, kl }, { weight: p0, advantage: q.map(() => 0), old_logprob: p0.map(Math.log), ref_logprob: q.map(Math.log) }, { ...clip, kl_coef: 1 });
    let told = false;
    const [k1, k2, k3] = [await expected('k1'), await expected('k2'), await expected('k3')];
    near(k1('loss')[0]!, divergence(p0, q), 1e-4);
    near(k3('loss')[0]!, divergence(p0, q), 1e-4);
    for (const [name, index] of places) {
      const forward = slope((of) => divergence(distribution(of), q), name, index);
      const backward = slope((of) => divergence(q, distribution(of)), name, index);
      near(k1(`grad ${name}`)[index]!, 0, 1e-4);
      near(k2(`grad ${name}`)[index]!, forward, 1e-3);
      near(k3(`grad ${name}`)[index]!, backward, 1e-3);
      told ||= Math.min(Math.abs(forward), Math.abs(backward), Math.abs(forward - backward)) > 1e-2;
    }
    assert.ok(told, 'at one place at least the two directions differ visibly');
  });
});
