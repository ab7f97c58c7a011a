import { compileForAnySize, type CompileOptions, type Executable } from '../engine/executor.ts';
import { GraphBuilder, type Value } from '../engine/graph.ts';
import { blockSize } from '../engine/ops/frozen.ts';
import { wrap, type Tensor } from '../engine/tensor.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { Weights } from './decoder.ts';
import { frozenValue, parameterNames, scalesOf } from './frozen-base.ts';
import type { PolicyWeights } from './policy-weights.ts';

const partLength = 2 ** 18; // values rounded in one run

/**
 * A copy of a model for sampling alone: every matrix, embeddings and output matrix too, as int8 in blocks of 32 values with a scale each, a quarter of its memory (codes uint8
 * [rows, blocks, 32] by the parameter's name, scales [rows, blocks]); vectors as they are. Factors of LoRA are not part of it.
 * Throws TrainerError `bad_input` when rows do not divide into blocks.
 */
export async function quantizedModel({ trainable, frozen }: PolicyWeights, engine: CompileOptions): Promise<ReadonlyMap<string, Tensor>> {
  const names = frozen ? parameterNames(frozen.base) : [...trainable.tensors.keys()];
  const parts = new Map<string, Tensor>();
  const quantizer = await compileForAnySize([quantizerGraph(2), quantizerGraph(3)], engine);
  try {
    for (const name of names) {
      const value = frozen ? frozenValue(frozen.base, name) : trainable.tensors.get(name) as Tensor<'float32'>;
      const [rows = 0, columns] = value.shape;
      if (columns === undefined) {
        parts.set(name, value);
        continue;
      }
      if (columns % blockSize !== 0) throw new TrainerError('bad_input', `sampling.dtype "int8" keeps the rows of matrices in blocks of ${blockSize} values, and those of "${name}" have ${columns}. Use "float32".`);
      const { codes, scales } = await quantized(quantizer, value.data);
      parts.set(name, wrap('uint8', [rows, columns / blockSize, blockSize], codes));
      parts.set(scalesOf(name), wrap('float32', [rows, columns / blockSize], scales));
    }
  } finally {
    await quantizer.release();
  }
  return parts;
}

function quantizerGraph(blocks: number): GraphBuilder {
  const b = new GraphBuilder();
  const [codes, scales] = b.quantizeRows(b.input('values', 'float32', [blocks, blockSize]));
  b.output('codes', codes);
  b.output('scales', scales);
  return b;
}

async function quantized(quantizer: Executable, values: Float32Array): Promise<{ codes: Uint8Array; scales: Float32Array }> {
  const [codes, scales] = [new Uint8Array(values.length), new Float32Array(values.length / blockSize)];
  for (let start = 0; start < values.length; start += partLength) {
    const part = values.subarray(start, start + partLength);
    const result = await quantizer.run({ values: wrap('float32', [part.length / blockSize, blockSize], part) });
    codes.set(result['codes']?.data as Uint8Array, start);
    scales.set(result['scales']?.data as Float32Array, start / blockSize);
  }
  return { codes, scales };
}

/** Its weights in a graph that samples. Products round the activations to 8 bits too, in the same blocks, each row on its own. */
export function quantizedWeights(b: GraphBuilder, model: ReadonlyMap<string, Tensor>): Weights {
  const constants = new Map<string, Value>();
  const leaf = (name: string) => {
    const known = constants.get(name) ?? b.constant(model.get(name) as Tensor);
    constants.set(name, known);
    return known;
  };
  return {
    value: leaf,
    linear: (x, name) => b.frozenMatmul(x, [leaf(name), leaf(scalesOf(name))], 'int8', { packed: true, activations: 'int8' }),
    rows(name, ids) {
      const codes = b.gather(leaf(name), ids);
      const [blocks = 0, size = 0] = codes.shape.slice(-2);
      const scales = b.reshape(b.gather(leaf(scalesOf(name)), ids), [-1, blocks, 1]);
      return b.reshape(b.mul(b.sub(b.cast(codes, 'float32'), 128), scales), [-1, blocks * size]);
    },
  };
}
