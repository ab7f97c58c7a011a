import assert from 'node:assert/strict';
import { gradients } from '../../../trainer/engine/autodiff.ts';
import { GraphBuilder } from '../../../trainer/engine/graph.ts';
import { lower } from '../../../trainer/engine/onnx/lower.ts';
import { profiles } from '../../../trainer/engine/onnx/profile.ts';
import { selfTest } from '../../../trainer/engine/self-test.ts';
import { TrainerError } from '../../../trainer/protocol/errors.ts';
import { cases } from './cases.ts';

/** What every provider has, in forward and backward graphs alike. */
const portable = new Set(['MatMul', 'Add', 'Sub', 'Mul', 'Div', 'Exp', 'Log', 'Sqrt', 'Neg', 'Min', 'Max', 'Where', 'Less', 'LessOrEqual', 'Equal',
  'ReduceSum', 'ReduceMax', 'ReduceMean', 'Transpose', 'Reshape', 'Slice', 'Concat', 'Expand', 'Gather', 'GatherElements', 'ScatterElements',
  'Sigmoid', 'Tanh', 'Cast', 'Softmax', 'Identity']);

describe('engine: providers', () => {
  it('the CPU passes the self-test', async () => {
    await selfTest({ provider: 'cpu', threads: 1 });
  });

  it('CUDA passes the self-test or is refused with the reason', async () => {
    try {
      await selfTest({ provider: 'cuda' });
    } catch (error) {
      assert.ok(error instanceof TrainerError && error.code === 'environment', String(error));
      assert.match(error.message, /provider "cuda"/);
    }
  });

  it('a graph for WebGPU, DirectML or CoreML uses portable operators alone, and no int64 arithmetic', () => {
    for (const testCase of cases) {
      const g = new GraphBuilder();
      const inputs = testCase.inputs.map(({ shape }, i) => g.input(`x${i}`, 'float32', shape));
      const output = testCase.build(g, inputs, 'float32');
      gradients(g, g.reduceSum(output), inputs).forEach((grad, i) => g.output(`grad${i}`, grad));
      const other = (['webgpu', 'dml', 'coreml'] as const).flatMap((provider) => lower(g, profiles[provider]).nodes).filter((node) => !portable.has(node.opType) || node.attributes['to'] === 7);
      assert.deepEqual(other.map((node) => node.opType), [], testCase.name);
    }
  });
});
