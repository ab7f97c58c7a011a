import '@tensorflow/tfjs-backend-cpu';
import * as tf from '@tensorflow/tfjs-core';
import assert from 'node:assert/strict';
import { compile } from '../../../trainer/engine/executor.ts';
import { GraphBuilder } from '../../../trainer/engine/graph.ts';
import { selfTest } from '../../../trainer/engine/self-test.ts';
import { float32, int32, tensor, wrap } from '../../../trainer/engine/tensor.ts';
import { TrainerError } from '../../../trainer/protocol/errors.ts';
import { cases } from './cases.ts';
import { evaluate, largestError } from './evaluate.ts';

const onTensorFlow = { provider: 'tensorflow', tensorflow: tf } as const;
const onCpu = { provider: 'cpu', threads: 1 } as const;

describe('engine: TensorFlow.js', () => {
  before(async () => { await tf.setBackend('cpu'); });

  for (const testCase of cases) {
    it(`${testCase.name}: values and derivatives are those of ONNX Runtime, and nothing is left on the device`, async () => {
      const before = tf.memory().numTensors;
      const [mine, theirs] = [await evaluate(testCase, 'float32', onTensorFlow), await evaluate(testCase, 'float32', onCpu)];
      await mine.release();
      await theirs.release();
      assert.ok(largestError(mine.output, theirs.output) < 2e-6, `values differ by ${largestError(mine.output, theirs.output)}`);
      mine.grads.forEach((grad, i) => assert.ok(largestError(grad, theirs.grads[i]!) < 2e-6, `gradient ${i} differs by ${largestError(grad, theirs.grads[i]!)}`));
      assert.equal(tf.memory().numTensors, before);
    });
  }

  it('passes the self-test', async () => {
    await selfTest(onTensorFlow);
  });

  it('integers: division towards zero, int64, bool', async () => {
    const g = new GraphBuilder();
    const x = g.input('x', 'int64', [4]);
    g.output('quotient', g.div(x, g.constant(tensor('int64', [4], [2, 2, -2, -2]))));
    g.output('less', g.less(x, g.constant(tensor('int64', [4], [0, 0, 0, 0]))));
    const feeds = { x: tensor('int64', [4], [7, -7, 7, -7]) };
    for (const options of [onCpu, onTensorFlow]) {
      const exe = await compile(g, options);
      const { quotient, less } = await exe.run(feeds);
      await exe.release();
      assert.deepEqual([...quotient!.data as BigInt64Array], [3n, -3n, -3n, 3n], options.provider);
      assert.deepEqual([...less!.data as Uint8Array], [0, 1, 0, 1], options.provider);
    }
  });

  it('outputs that are inputs or constants are copies; an output may be written to the memory of an input', async () => {
    const g = new GraphBuilder();
    const x = g.input('x', 'float32', [2]);
    g.output('same', x);
    g.output('reshaped', g.reshape(x, [1, 2]));
    g.output('constant', g.constant(float32([1], [5])));
    g.output('doubled', g.mul(x, 2));
    const exe = await compile(g, onTensorFlow);
    const memory = Float32Array.of(1, 2);
    const given = wrap('float32', [2], memory);
    const { same, reshaped, constant, doubled } = await exe.run({ x: given }, { doubled: given });
    await exe.release();
    assert.equal(doubled!.data, memory);
    assert.deepEqual([[...memory], [...same!.data as Float32Array], [...reshaped!.data as Float32Array], [...constant!.data as Float32Array]], [[2, 4], [1, 2], [1, 2], [5]]);
  });

  it('a run that fails names the call and leaves nothing on the device', async () => {
    const g = new GraphBuilder();
    g.output('rows', g.gather(g.square(g.input('table', 'float32', [3, 2])), g.input('rows', 'int32', [1])));
    const before = tf.memory().numTensors;
    const exe = await compile(g, onTensorFlow);
    const table = float32([3, 2], [1, 2, 3, 4, 5, 6]);
    await assert.rejects(exe.run({ table, rows: int32([1], [7]) }), (error) => error instanceof TrainerError && /Running the graph failed in gather#\d+: /.test(error.message));
    await exe.release();
    assert.equal(tf.memory().numTensors, before);
  });

  it('float64 is refused by name', async () => {
    const g = new GraphBuilder();
    g.output('y', g.exp(g.input('x', 'float64', [1])));
    await assert.rejects(compile(g, onTensorFlow), (error) => error instanceof TrainerError && error.code === 'environment' && /exp: TensorFlow.js has no float64/.test(error.message));
  });

  it('without its package it is refused, and how to get it is said', async () => {
    await assert.rejects(selfTest({ provider: 'tensorflow' }), (error) => error instanceof TrainerError && error.code === 'environment' && /tfjs-node-gpu is not installed.*--install tensorflow/.test(error.message));
  });
});
