import { gradients } from '../../../trainer/engine/autodiff.ts';
import { compile, type CompileOptions } from '../../../trainer/engine/executor.ts';
import { GraphBuilder } from '../../../trainer/engine/graph.ts';
import { elementCount, tensor } from '../../../trainer/engine/tensor.ts';
import type { Case } from './cases.ts';

export interface Evaluation {
  readonly output: number[];
  /** ∂loss/∂input for each input. */
  readonly grads: number[][];
  /** loss(inputs) alone, for finite differences. */
  readonly loss: (inputs: readonly (readonly number[])[]) => Promise<number>;
  release(): Promise<void>;
}

/** Runs a case; its loss is a fixed weighted sum of the outputs, so that every output element counts differently. */
export async function evaluate(testCase: Case, dtype: 'float32' | 'float64', on: CompileOptions): Promise<Evaluation> {
  const build = () => {
    const g = new GraphBuilder();
    const inputs = testCase.inputs.map(({ shape }, i) => g.input(`x${i}`, dtype, shape));
    const output = testCase.build(g, inputs, dtype);
    const weights = Array.from({ length: elementCount(output.shape) }, (_, i) => 1 + 0.37 * ((i * 5) % 7));
    const loss = g.reduceSum(g.mul(output, g.constant(tensor(dtype, output.shape, weights))));
    return { g, inputs, output, loss };
  };
  const options = { ...on, threads: 1 };

  const forward = build();
  forward.g.output('loss', forward.loss);
  const forwardExe = await compile(forward.g, options);

  const full = build();
  full.g.output('output', full.output);
  gradients(full.g, full.loss, full.inputs).forEach((grad, i) => full.g.output(`grad${i}`, grad));
  const fullExe = await compile(full.g, options);

  const feeds = (inputs: readonly (readonly number[])[]) =>
    Object.fromEntries(inputs.map((values, i) => [`x${i}`, tensor(dtype, testCase.inputs[i]!.shape, values)]));
  const result = await fullExe.run(feeds(testCase.inputs.map((x) => x.values)));
  await fullExe.release();
  const numbers = (name: string) => Array.from(result[name]!.data, Number);
  return {
    output: numbers('output'),
    grads: testCase.inputs.map((_, i) => numbers(`grad${i}`)),
    loss: async (inputs) => Number((await forwardExe.run(feeds(inputs)))['loss']!.data[0]),
    release: () => forwardExe.release(),
  };
}

/** Largest difference, relative to the larger of 1 and the largest expected magnitude. */
export function largestError(actual: readonly number[], expected: readonly number[]): number {
  if (actual.length !== expected.length) return Infinity;
  const scale = Math.max(1, ...expected.map(Math.abs));
  return Math.max(0, ...actual.map((v, i) => (Number.isFinite(v) ? Math.abs(v - expected[i]!) / scale : Infinity)));
}
