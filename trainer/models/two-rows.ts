import type { GraphBuilder, Value } from '../engine/graph.ts';
import { elementCount } from '../engine/tensor.ts';

/** product(x) for x [..., in] with a row alone computed as two: the CPU's kernels sum one row in another order than several, and a sampler's answers are to repeat bit for bit. */
export function withTwoRows(b: GraphBuilder, x: Value, product: (x: Value) => Value): Value {
  const lead = x.shape.slice(0, -1);
  if (elementCount(lead) > 1) return product(x);
  const row = b.reshape(x, [1, -1]);
  return b.reshape(b.slice(product(b.concat([row, row], 0)), 0, 0, 1), [...lead, -1]);
}
