import assert from 'node:assert/strict';
import { adamwKernel } from '../../../trainer/engine/adamw-kernel.ts';
import { AdamW, type AdamWSettings } from '../../../trainer/engine/optimizer.ts';
import { allocateBlock, type ParameterBlock } from '../../../trainer/engine/parameter-block.ts';
import { float32, type Tensor } from '../../../trainer/engine/tensor.ts';

const settings: AdamWSettings = { beta1: 0.9, beta2: 0.99, eps: 1e-8, weightDecay: 0.1, maxGradNorm: Infinity };
const numbers = (t: Tensor | undefined) => Array.from(t!.data, Number);
const near = (actual: number[], expected: number[], tolerance = 1e-6) =>
  actual.forEach((v, i) => assert.ok(Math.abs(v - expected[i]!) <= tolerance * Math.max(1, Math.abs(expected[i]!)), `${actual.join(' ')} instead of ${expected.join(' ')}`));
const block = (tensors: Record<string, ArrayLike<number>>): ParameterBlock => {
  const made = allocateBlock(Object.entries(tensors).map(([name, { length }]) => [name, [length]] as const));
  for (const [name, { data }] of made.tensors) data.set(tensors[name]!);
  return made;
};
const single = (shape: number[]) => new Map([['w', { dtype: 'float32', shape } as const]]);

describe('engine: AdamW', () => {
  it('takes the steps worked out by hand', () => {
    const adam = new AdamW(single([2]), settings);
    const w = block({ w: [1, -2] });
    // t = 1: m̂ = g and v̂ = g², so the step is lr·sign(g): 1·0.99 − 0.1 and −2·0.99 + 0.1.
    assert.deepEqual(adam.step(w, block({ w: [3, -0.5] }), 0.1), { applied: true, gradNorm: Math.sqrt(9.25) });
    near(numbers(w.tensors.get('w')), [0.89, -1.88]);
    near(numbers(adam.state.firstMoments['w']), [0.3, -0.05]);
    near(numbers(adam.state.secondMoments['w']), [0.09, 0.0025]);
    // t = 2 with g = [1, 1]: m = [0.37, 0.055], m̂ = m/0.19; v = [0.0991, 0.012475], v̂ = v/0.0199.
    adam.step(w, block({ w: [1, 1] }), 0.1);
    near(numbers(w.tensors.get('w')), [0.89 * 0.99 - 0.1 * (0.37 / 0.19) / Math.sqrt(0.0991 / 0.0199), -1.88 * 0.99 - 0.1 * (0.055 / 0.19) / Math.sqrt(0.012475 / 0.0199)]);
    assert.equal(adam.state.step, 2);
  });

  it('scales all gradients by one factor when their global norm is too long', () => {
    const parameters = new Map([['a', { dtype: 'float32', shape: [1] } as const], ['b', { dtype: 'float32', shape: [1] } as const]]);
    const adam = new AdamW(parameters, { ...settings, maxGradNorm: 1 });
    const weights = block({ a: [0], b: [0] });
    const report = adam.step(weights, block({ a: [3], b: [4] }), 0.01);
    assert.deepEqual(report, { applied: true, gradNorm: 5 });
    near([...numbers(adam.state.firstMoments['a']), ...numbers(adam.state.firstMoments['b'])], [0.06, 0.08]);
    // Below the limit nothing is scaled: m = 0.9·0.06 + 0.1·0.5.
    adam.step(weights, block({ a: [0.5], b: [0] }), 0.01);
    near(numbers(adam.state.firstMoments['a']), [0.104]);
  });

  for (const [what, poison] of [['NaN', NaN], ['infinity', -Infinity], ['overflow of the square', 1e30]] as const) {
    it(`changes nothing on a gradient with ${what} and names the tensor`, () => {
      const parameters = new Map([['good', { dtype: 'float32', shape: [2] } as const], ['bad', { dtype: 'float32', shape: [3] } as const]]);
      const adam = new AdamW(parameters, settings);
      const weights = block({ good: [1, 2], bad: [3, 4, 5] });
      adam.step(weights, block({ good: [1, 1], bad: [1, 1, 1] }), 0.1);
      const snapshot = () => [...weights.tensors.values(), ...Object.values(adam.state.firstMoments), ...Object.values(adam.state.secondMoments)].map(numbers);
      const before = snapshot();
      const report = adam.step(weights, block({ good: [1, 1], bad: [0, poison, 0] }), 0.1);
      assert.deepEqual(report, { applied: false, nonFinite: ['bad'] });
      assert.deepEqual(snapshot(), before);
      assert.equal(adam.state.step, 1);
    });
  }

  it('continues bitwise from saved moments', () => {
    const grads = (i: number) => block({ w: [Math.sin(i), Math.cos(i), i] });
    const run = (restartAt?: number) => {
      let adam = new AdamW(single([3]), settings);
      const w = block({ w: [0.1, -0.2, 0.3] });
      for (let i = 0; i < 6; i++) {
        if (i === restartAt) {
          const saved = structuredClone(adam.state);
          adam = new AdamW(single([3]), settings);
          adam.load(saved);
        }
        adam.step(w, grads(i), 0.05);
      }
      return numbers(w.tensors.get('w'));
    };
    assert.deepEqual(run(3), run());
  });

  it('refuses the moments of another model', () => {
    const adam = new AdamW(single([3]), settings);
    assert.throws(() => adam.load({ step: 1, firstMoments: { w: float32([2], [0, 0]) }, secondMoments: {} }), /firstMoments of "w" is float32\[2\], expected float32\[3\]/);
  });

  it('follows a float64 reference over many steps', () => {
    const adam = new AdamW(single([4]), { ...settings, maxGradNorm: 0.7 });
    const w = block({ w: [1, -1, 0.5, 0] });
    const reference = { w: [1, -1, 0.5, 0], m: [0, 0, 0, 0], v: [0, 0, 0, 0] };
    for (let t = 1; t <= 50; t++) {
      const g = reference.w.map((_, i) => Math.sin(t * 1.7 + i) * (i + 0.2));
      adam.step(w, block({ w: g }), 0.02);
      const clip = Math.min(1, 0.7 / Math.hypot(...g));
      g.forEach((raw, i) => {
        const x = raw * clip;
        reference.m[i] = 0.9 * reference.m[i]! + 0.1 * x;
        reference.v[i] = 0.99 * reference.v[i]! + 0.01 * x * x;
        const step = (reference.m[i] / (1 - 0.9 ** t)) / (Math.sqrt(reference.v[i] / (1 - 0.99 ** t)) + 1e-8);
        reference.w[i] = reference.w[i]! * (1 - 0.02 * 0.1) - 0.02 * step;
      });
    }
    near(numbers(w.tensors.get('w')), reference.w, 1e-5);
  });

  it('treats an element the same wherever it lies: tensors larger than the part that is updated at a time', () => {
    const sizes = [5, 2 ** 14 + 3, 2 ** 14, 7];
    const of = (seed: number) => block(Object.fromEntries(sizes.map((size, t) => [`t${t}`, Float32Array.from({ length: size }, (_, i) => Math.sin(seed + (i % 11)))])));
    const [weights, gradients] = [of(1), of(2)];
    const adam = new AdamW(weights.tensors, settings);
    for (let i = 0; i < 2; i++) adam.step(weights, gradients, 0.01);
    const few = [block({ w: Array.from({ length: 11 }, (_, i) => Math.sin(1 + i)) }), block({ w: Array.from({ length: 11 }, (_, i) => Math.sin(2 + i)) })] as const;
    const small = new AdamW(few[0].tensors, settings);
    for (let i = 0; i < 2; i++) small.step(few[0], few[1], 0.01);
    for (const { data } of weights.tensors.values()) assert.equal(data.findIndex((value, i) => value !== few[0].flat[i % 11]), -1);
  });

  it('computes in float32, each operation rounded, for any number of elements', () => {
    const f = Math.fround;
    const values = { scale: 0.3, keep: 0.99, rate: 0.01, correction: 1.7, beta1: 0.9, rest1: 0.1, beta2: 0.99, rest2: 0.01, eps: 1e-8 };
    const c = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, f(value)])) as typeof values;
    for (const length of [1, 3, 4, 6, 2 ** 14 - 1, 2 ** 14, 2 ** 15 + 5]) {
      const of = (seed: number) => Float32Array.from({ length }, (_, i) => Math.sin(seed * 100 + i));
      const data = { gradient: of(1), weight: of(2), first: of(3), second: of(4).map(Math.abs) };
      const expected = Array.from({ length }, (_, i) => {
        const [g, m, v] = [f(data.gradient[i]! * c.scale), data.first[i]!, data.second[i]!];
        const first = f(f(m * c.beta1) + f(g * c.rest1));
        const second = f(f(v * c.beta2) + f(f(g * g) * c.rest2));
        return [f(f(data.weight[i]! * c.keep) - f(f(first / f(f(f(Math.sqrt(second)) * c.correction) + c.eps)) * c.rate)), first, second];
      });
      adamwKernel()(data, values);
      assert.deepEqual(Array.from({ length }, (_, i) => [data.weight[i], data.first[i], data.second[i]]), expected);
    }
  });
});
