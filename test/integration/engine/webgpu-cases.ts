// Runs in a process of its own: the Vulkan loader reads its environment once, and a GPU driver may abort.
import { selfTest } from '../../../trainer/engine/self-test.ts';
import { cases } from '../../unit/engine/cases.ts';
import { evaluate, largestError } from '../../unit/engine/evaluate.ts';

await selfTest({ provider: 'webgpu' });
const errors: Record<string, number> = {};
for (const testCase of cases) {
  const [onGpu, onCpu] = [await evaluate(testCase, 'float32', { provider: 'webgpu' }), await evaluate(testCase, 'float32', { provider: 'cpu' })];
  errors[testCase.name] = Math.max(largestError(onGpu.output, onCpu.output), ...onGpu.grads.map((grad, i) => largestError(grad, onCpu.grads[i] as number[])));
  await onGpu.release();
  await onCpu.release();
}
process.stdout.write(JSON.stringify(errors), () => process.exit(0));
