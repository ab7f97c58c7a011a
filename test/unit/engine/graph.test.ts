import assert from 'node:assert/strict';
import { gradients } from '../../../trainer/engine/autodiff.ts';
import { compile } from '../../../trainer/engine/executor.ts';
import { GraphBuilder } from '../../../trainer/engine/graph.ts';
import { float32, int32, tensor, wrap, zeros, type Tensor } from '../../../trainer/engine/tensor.ts';

const cpu = { provider: 'cpu', threads: 1 } as const;
const numbers = (t: Tensor | undefined) => Array.from(t!.data, Number);

describe('engine: shape rules', () => {
  const g = new GraphBuilder();
  const x = g.input('x', 'float32', [2, 3]);
  const y = g.input('y', 'float32', [4, 5]);
  const ids = g.input('ids', 'int32', [2]);
  const refused: readonly [string, () => unknown, RegExp][] = [
    ['matmul', () => g.matmul(x, y), /matmul: inner dimensions differ \(3 and 4.*float32\[2,3\], float32\[4,5\]/],
    ['matmul of a vector', () => g.matmul(x, g.reshape(x, [6])), /matmul: both operands need at least two axes/],
    ['add', () => g.add(x, y), /add: shapes do not broadcast; operands are float32\[2,3\], float32\[4,5\]/],
    ['mixed dtypes', () => g.add(x, ids), /add: operands have different dtypes; operands are float32\[2,3\], int32\[2\]/],
    ['exp of integers', () => g.exp(ids), /exp: needs floating-point operands; operands are int32\[2\]/],
    ['where', () => g.where(x, x, x), /where: the condition must be bool/],
    ['reduceSum', () => g.reduceSum(x, [2]), /reduceSum: axis 2 does not exist; operands are float32\[2,3\]/],
    ['reshape', () => g.reshape(x, [4, 2]), /reshape: cannot become \[4,2\]; operands are float32\[2,3\]/],
    ['reshape with -1', () => g.reshape(x, [4, -1]), /reshape: cannot become/],
    ['transpose', () => g.transpose(x, [0, 0]), /transpose: \[0,0\] is not an order of the axes/],
    ['expand', () => g.expand(x, [2, 4]), /expand: shapes do not broadcast/],
    ['expand to less', () => g.expand(x, [3]), /expand: cannot become \[3\]/],
    ['slice', () => g.slice(x, 1, 1, 4), /slice: \[1, 4\) of axis 1 is outside 0\.\.3/],
    ['concat', () => g.concat([x, y], 0), /concat: shapes differ outside axis 0; operands are float32\[2,3\], float32\[4,5\]/],
    ['split', () => g.split(x, 1, [1, 1]), /split: parts \[1,1\] do not add up/],
    ['gather', () => g.gather(x, y), /gather: indices must be int32 or int64/],
    ['gatherElements', () => g.gatherElements(x, ids), /gatherElements: index must have the shape/],
    ['scatterAddRows', () => g.scatterAddRows(x, ids, y), /scatterAddRows: needs base \[V,D\], rows \[n\], updates \[n,D\]; operands are float32\[2,3\], int32\[2\], float32\[4,5\]/],
    ['rmsNorm', () => g.rmsNorm(x, g.reshape(y, [20])), /rmsNorm: the weight must be \[D\]/],
    ['rope', () => g.rope(x, ids, y, y), /rope: needs x \[B,H,L,D\]/],
    ['input name twice', () => g.input('x', 'float32', [1]), /graph input "x" exists already/],
    ['gradient of a vector', () => gradients(g, x, [x]), /the loss must be a floating-point scalar, got float32\[2,3\]/],
  ];
  for (const [name, act, message] of refused) it(name, () => assert.throws(act, message));
});

describe('engine: graph and autodiff', () => {
  it('shares equal calls and skips no-ops', () => {
    const g = new GraphBuilder();
    const x = g.input('x', 'float32', [2, 3]);
    assert.equal(g.exp(x), g.exp(x));
    assert.equal(g.mul(x, 2), g.mul(x, 2));
    assert.notEqual(g.mul(x, 2), g.mul(x, 3));
    assert.equal(g.reshape(x, [2, 3]), x);
    assert.equal(g.transpose(x, [0, 1]), x);
  });

  it('refuses a value of another graph', async () => {
    const g = new GraphBuilder();
    const own = g.input('x', 'float32', [2]);
    g.output('y', g.add(own, new GraphBuilder().input('x', 'float32', [2])));
    await assert.rejects(compile(g, cpu), /a value of another graph was used/);
    await assert.rejects(compile(new GraphBuilder(), cpu), /the graph has no outputs/);
  });

  it('stops at stopGradient, and gives zeros to what the loss does not use', async () => {
    const g = new GraphBuilder();
    const [x, unused] = [g.input('x', 'float32', [2]), g.input('unused', 'float32', [2, 2])];
    const loss = g.reduceSum(g.mul(x, g.stopGradient(g.square(x))));
    gradients(g, loss, [x, unused]).forEach((grad, i) => g.output(['dx', 'du'][i]!, grad));
    const exe = await compile(g, cpu);
    const result = await exe.run({ x: float32([2], [3, -2]), unused: zeros('float32', [2, 2]) });
    assert.deepEqual(numbers(result['dx']), [9, 4]);
    assert.deepEqual(numbers(result['du']), [0, 0, 0, 0]);
    await exe.release();
  });

  it('gives ties of min and max to the first operand, and clip a slope of 1 on its border', async () => {
    const g = new GraphBuilder();
    const x = g.input('x', 'float32', [3]);
    const y = g.input('y', 'float32', [3]);
    const loss = g.reduceSum(g.add(g.add(g.minimum(x, y), g.maximum(x, y)), g.clip(x, -1, 1)));
    gradients(g, loss, [x, y]).forEach((grad, i) => g.output(['dx', 'dy'][i]!, grad));
    const exe = await compile(g, cpu);
    const result = await exe.run({ x: float32([3], [-1, 1, 1.5]), y: float32([3], [-1, 1, 1.5]) });
    assert.deepEqual(numbers(result['dx']), [3, 3, 2]);
    assert.deepEqual(numbers(result['dy']), [0, 0, 0]);
    await exe.release();
  });

  it('sums the gradients of a table used as input and as output, in one scatter', () => {
    const g = new GraphBuilder();
    const table = g.input('table', 'float32', [4, 2]);
    const logits = g.matmul(g.gather(table, g.constant(int32([2], [1, 3]))), table, { transB: true });
    const [grad] = gradients(g, g.reduceSum(g.square(logits)), [table]);
    assert.equal(grad!.source.kind === 'call' && grad!.source.call.op.name, 'scatterAddRows');
  });
});

describe('engine: executor', () => {
  const doubled = () => {
    const g = new GraphBuilder();
    const x = g.input('x', 'float32', [4]);
    g.output('y', g.mul(x, 2));
    return g;
  };

  it('names what is missing, unknown or of another type', async () => {
    const exe = await compile(doubled(), cpu);
    await assert.rejects(exe.run({}), /input "x" of type float32\[4\] is missing/);
    await assert.rejects(exe.run({ x: float32([4], [1, 2, 3, 4]), z: float32([1], [1]) }), /no input "z"; it has x/);
    await assert.rejects(exe.run({ x: float32([2, 2], [1, 2, 3, 4]) }), /input "x" must be float32\[4\], got float32\[2,2\]/);
    await assert.rejects(exe.run({ x: int32([4], [1, 2, 3, 4]) }), /input "x" must be float32\[4\], got int32\[4\]/);
    await assert.rejects(exe.run({ x: zeros('float32', [4]) }, { y: zeros('float32', [5]) }), /output "y" must be float32\[4\]/);
    await exe.release();
  });

  it('names the operator that fails at run time', async () => {
    const g = new GraphBuilder();
    g.output('y', g.gather(g.input('table', 'float32', [3, 2]), g.input('rows', 'int32', [1])));
    const exe = await compile(g, cpu);
    await assert.rejects(exe.run({ table: zeros('float32', [3, 2]), rows: int32([1], [7]) }), /failed in gather#\d+/);
    await exe.release();
  });

  it('writes into given memory, also into that of an input', async () => {
    const exe = await compile(doubled(), cpu);
    const x = float32([4], [1, 2, 3, 4]);
    const y = zeros('float32', [4]);
    const result = await exe.run({ x }, { y });
    assert.equal(result['y'], y);
    assert.deepEqual(numbers(y), [2, 4, 6, 8]);
    await exe.run({ x }, { y: x });
    assert.deepEqual(numbers(x), [2, 4, 6, 8]);
    await exe.release();
  });

  it('reads and writes a view in the middle of a buffer', async () => {
    const exe = await compile(doubled(), cpu);
    const buffer = Float32Array.of(1, 1, 1, 2, 3, 4, 9, 9);
    const view = wrap('float32', [4], buffer.subarray(2, 6));
    await exe.run({ x: view }, { y: view });
    assert.deepEqual([...buffer], [1, 1, 2, 4, 6, 8, 9, 9]);
    await exe.release();
  });

  it('gives one value several names, and passes inputs and constants through', async () => {
    const g = new GraphBuilder();
    const x = g.input('x', 'int64', [2]);
    const sum = g.add(x, 1);
    g.output('a', sum);
    g.output('b', sum);
    g.output('x again', x);
    g.output('flag', g.less(x, 2));
    g.output('five', g.scalar(5));
    const exe = await compile(g, cpu);
    const result = await exe.run({ x: tensor('int64', [2], [1, 2]) });
    assert.deepEqual(Object.fromEntries(Object.entries(result).map(([name, t]) => [name, numbers(t)])), { a: [2, 3], b: [2, 3], 'x again': [1, 2], flag: [1, 0], five: [5] });
    await exe.release();
  });

  it('keeps large constants outside the model bytes', async () => {
    const g = new GraphBuilder();
    const n = 40_000;
    const table = g.constant(float32([n], Array.from({ length: n }, (_, i) => i)));
    g.output('y', g.mul(g.slice(table, 0, n - 2, n), g.input('x', 'float32', [])));
    const exe = await compile(g, cpu);
    assert.deepEqual(numbers((await exe.run({ x: float32([], [2]) }))['y']), [2 * (n - 2), 2 * (n - 1)]);
    await exe.release();
  });

  it('is bitwise repeatable over runs and sessions, with two threads', async () => {
    const run = async () => {
      const g = new GraphBuilder();
      const [a, b] = [g.input('a', 'float32', [96, 64]), g.input('b', 'float32', [64, 200])];
      const loss = g.reduceMean(g.logSumExp(g.matmul(g.rmsNorm(a, g.constant(float32([64], Array(64).fill(1)))), b)));
      gradients(g, loss, [a, b]).forEach((grad, i) => g.output(`g${i}`, grad));
      g.output('loss', loss);
      const exe = await compile(g, { provider: 'cpu', threads: 2 });
      const noise = (shape: number[]) => float32(shape, Array.from({ length: shape[0]! * shape[1]! }, (_, i) => Math.sin(i * i)));
      const feeds = { a: noise([96, 64]), b: noise([64, 200]) };
      const results = [await exe.run(feeds), await exe.run(feeds)].map((r) => Object.values(r).flatMap(numbers));
      await exe.release();
      assert.deepEqual(results[1], results[0]);
      return results[0];
    };
    assert.deepEqual(await run(), await run());
  });
});

describe('engine: tensors', () => {
  it('refuses data that does not fit', () => {
    assert.throws(() => tensor('float32', [2, 2], [1]), /1 values cannot fill a tensor of type float32\[2,2\]/);
    assert.throws(() => wrap('float32', [2], new Float32Array(3)), /3 values cannot fill/);
    assert.throws(() => wrap('float32', [2], new Int32Array(2) as unknown as Float32Array), /needs a Float32Array, got Int32Array/);
  });
});
