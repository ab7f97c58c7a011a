import assert from 'node:assert/strict';
import * as attention from '../../../trainer/engine/ops/attention.ts';
import * as elementwise from '../../../trainer/engine/ops/elementwise.ts';
import * as frozen from '../../../trainer/engine/ops/frozen.ts';
import * as indexing from '../../../trainer/engine/ops/indexing.ts';
import * as linear from '../../../trainer/engine/ops/linear.ts';
import * as normalization from '../../../trainer/engine/ops/normalization.ts';
import * as reduce from '../../../trainer/engine/ops/reduce.ts';
import * as shaping from '../../../trainer/engine/ops/shaping.ts';
import { GraphBuilder, type Call } from '../../../trainer/engine/graph.ts';
import { cases as everywhere, frozenCases, type Case } from './cases.ts';
import { evaluate, largestError, type Evaluation } from './evaluate.ts';

const H = 1e-5;

async function centralDifferences(testCase: Case, { loss }: Evaluation): Promise<number[][]> {
  const result: number[][] = [];
  for (const [i, { values }] of testCase.inputs.entries()) {
    const grad: number[] = [];
    for (const j of values.keys()) {
      const moved = async (h: number) => {
        const inputs = testCase.inputs.map((x) => [...x.values]);
        inputs[i]![j]! += h;
        return loss(inputs);
      };
      grad.push((await moved(H) - await moved(-H)) / (2 * H));
    }
    result.push(grad);
  }
  return result;
}

const cases = [...everywhere, ...frozenCases];

describe('engine: operators', () => {
  for (const testCase of cases) {
    it(`${testCase.name}: values and derivatives`, async () => {
      const exact = await evaluate(testCase, 'float64', { provider: 'cpu' });
      try {
        const expected = testCase.reference(testCase.inputs.map((x) => [...x.values]));
        assert.ok(largestError(exact.output, expected) < 1e-12, `values ${exact.output.join(' ')} instead of ${expected.join(' ')}`);
        const numeric = await centralDifferences(testCase, exact);
        exact.grads.forEach((grad, i) => {
          assert.ok(largestError(grad, numeric[i]!) < 1e-7, `gradient of input ${i}: ${grad.join(' ')} instead of ${numeric[i]!.join(' ')}`);
        });
      } finally {
        await exact.release();
      }
      // float32 takes other, fused lowerings.
      const single = await evaluate(testCase, 'float32', { provider: 'cpu' });
      await single.release();
      assert.ok(largestError(single.output, exact.output) < 2e-6, `float32 values ${single.output.join(' ')} instead of ${exact.output.join(' ')}`);
      single.grads.forEach((grad, i) => assert.ok(largestError(grad, exact.grads[i]!) < 5e-6, `float32 gradient of input ${i}`));
    });
  }

  it('every operator with a derivative has a case', () => {
    const used = new Set<string>();
    for (const testCase of cases) {
      const g = new GraphBuilder();
      const value = testCase.build(g, testCase.inputs.map(({ shape }, i) => g.input(`x${i}`, 'float32', shape)), 'float32');
      const stack: Call[] = value.source.kind === 'call' ? [value.source.call] : [];
      for (let call = stack.pop(); call; call = stack.pop()) {
        used.add(call.op.name);
        for (const input of call.inputs) if (input.source.kind === 'call') stack.push(input.source.call);
      }
    }
    const families: Record<string, { name: string }>[] = [attention, elementwise, { frozenMatmul: frozen.frozenMatmul }, indexing, linear, normalization, reduce, shaping];
    const all = families.flatMap((family) => Object.values(family));
    const missing = all.map((op) => op.name).filter((name) => !used.has(name) && name !== 'stopGradient');
    assert.deepEqual(missing, []);
  });
});
