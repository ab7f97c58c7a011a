import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { gradients } from '../../../trainer/engine/autodiff.ts';
import { GraphBuilder } from '../../../trainer/engine/graph.ts';
import { lower } from '../../../trainer/engine/onnx/lower.ts';
import { profiles } from '../../../trainer/engine/onnx/profile.ts';
import { selfTest } from '../../../trainer/engine/self-test.ts';
import { TrainerError, messageOf } from '../../../trainer/protocol/errors.ts';
import { cases } from './cases.ts';
import { evaluate, largestError } from './evaluate.ts';

/** What every provider has, in forward and backward graphs alike. */
const portable = new Set(['MatMul', 'Add', 'Sub', 'Mul', 'Div', 'Exp', 'Log', 'Sqrt', 'Neg', 'Min', 'Max', 'Where', 'Less', 'LessOrEqual', 'Equal',
  'ReduceSum', 'ReduceMax', 'ReduceMean', 'Transpose', 'Reshape', 'Slice', 'Concat', 'Expand', 'Gather', 'GatherElements', 'ScatterElements',
  'Sigmoid', 'Cast', 'Softmax', 'Identity']);

const softwareVulkan = '/usr/lib/chromium/vk_swiftshader_icd.json';

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

  it('a WebGPU graph uses portable operators alone, and no int64 arithmetic', () => {
    for (const testCase of cases) {
      const g = new GraphBuilder();
      const inputs = testCase.inputs.map(({ shape }, i) => g.input(`x${i}`, 'float32', shape));
      const output = testCase.build(g, inputs, 'float32');
      gradients(g, g.reduceSum(output), inputs).forEach((grad, i) => g.output(`grad${i}`, grad));
      const other = lower(g, profiles.webgpu).nodes.filter((node) => !portable.has(node.opType) || node.attributes['to'] === 7);
      assert.deepEqual(other.map((node) => node.opType), [], testCase.name);
    }
  });

  it('WebGPU computes the same as the CPU (software Vulkan)', async function () {
    if (!existsSync(softwareVulkan)) {
      console.log(`      skipped: no software Vulkan at ${softwareVulkan} (it comes with the chromium package)`);
      return this.skip();
    }
    this.timeout(120_000);
    process.env['VK_DRIVER_FILES'] = process.env['VK_ICD_FILENAMES'] = softwareVulkan;
    process.env['XDG_RUNTIME_DIR'] ??= '/tmp';
    try {
      await selfTest({ provider: 'webgpu' });
    } catch (error) {
      if (!/No supported adapters/.test(messageOf(error))) throw error;
      console.log('      skipped: WebGPU finds no adapter (is the package libvulkan1 installed?)');
      return this.skip();
    }
    for (const testCase of cases) {
      const [onGpu, onCpu] = [await evaluate(testCase, 'float32', 'webgpu'), await evaluate(testCase, 'float32', 'cpu')];
      await onGpu.release();
      await onCpu.release();
      assert.ok(largestError(onGpu.output, onCpu.output) < 1e-3, `${testCase.name}: ${onGpu.output.join(' ')} instead of ${onCpu.output.join(' ')}`);
      onGpu.grads.forEach((grad, i) => assert.ok(largestError(grad, onCpu.grads[i]!) < 1e-3, `${testCase.name}: gradient of input ${i}: ${grad.join(' ')} instead of ${onCpu.grads[i]!.join(' ')}`));
    }
  });
});
