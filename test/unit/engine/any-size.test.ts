import assert from 'node:assert/strict';
import { compile, compileForAnySize } from '../../../trainer/engine/executor.ts';
import { GraphBuilder } from '../../../trainer/engine/graph.ts';
import { float32, int32, wrap } from '../../../trainer/engine/tensor.ts';

const engine = { provider: 'cpu', threads: 1 } as const;
const table = float32([5, 4], Array.from({ length: 20 }, (_, i) => Math.sin(i)));

/** [B·S] ids to products per row, over a table; two parts of a softmax. */
function graph(batch: number, tokens: number, wide: number): GraphBuilder {
  const b = new GraphBuilder();
  const like = b.input('like', 'int32', [batch, tokens]);
  const x = b.gather(b.constant(table), b.input('ids', 'int32', [batch * tokens]));
  const rows = b.transpose(b.reshape(b.unflatten(x, like), [batch, tokens, 2, 2]), [0, 2, 1, 3]);
  const other = b.input('other', 'float32', [batch, 2, tokens, wide]);
  const [first, second] = b.splitLike(b.softmax(b.concat([other, rows], 3)), other, rows);
  b.output('first', first);
  b.output('second', b.reshape(b.transpose(second, [0, 2, 1, 3]), [-1, 4]));
  return b;
}

describe('engine: graphs for any size', () => {
  it('one executable gives what a graph of each size gives', async () => {
    const any = await compileForAnySize([graph(2, 3, 4), graph(3, 5, 6)], engine);
    assert.deepEqual(any.inputs.get('other')!.shape, [-1, 2, -1, -1]);
    for (const [batch, tokens, wide] of [[1, 1, 1], [4, 1, 7], [1, 6, 2], [5, 5, 5]] as [number, number, number][]) {
      const feeds = {
        like: int32([batch, tokens], new Int32Array(batch * tokens)),
        ids: int32([batch * tokens], Array.from({ length: batch * tokens }, (_, i) => (i * 3) % 5)),
        other: float32([batch, 2, tokens, wide], Array.from({ length: 2 * batch * tokens * wide }, (_, i) => Math.cos(i))),
      };
      const exact = await compile(graph(batch, tokens, wide), engine);
      assert.deepEqual(await any.run(feeds), await exact.run(feeds));
      await exact.release();
    }
    await assert.rejects(any.run({ like: int32([1, 1], [0]), ids: int32([1], [0]), other: wrap('float32', [1, 3, 1, 1], new Float32Array(3)) }), /input "other" must be float32\[-1,2,-1,-1\]/);
    await any.release();
  });

  it('a graph that has a size written into it is refused', async () => {
    const withTable = (n: number) => {
      const b = new GraphBuilder();
      b.output('y', b.add(b.input('x', 'float32', [n]), b.constant(float32([n], new Float32Array(n).fill(n)))));
      return b;
    };
    const reshaped = (n: number) => {
      const b = new GraphBuilder();
      b.output('y', b.reshape(b.input('x', 'float32', [2 * n]), [n, 2]));
      return b;
    };
    for (const make of [withTable, reshaped]) await assert.rejects(compileForAnySize([make(2), make(3)], engine), { code: 'internal', message: /must be the same at two sizes/ });
  });
});
