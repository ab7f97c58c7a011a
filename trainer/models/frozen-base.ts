import type { GraphBuilder, Value } from '../engine/graph.ts';
import { blockSize, type FrozenFormat } from '../engine/ops/frozen.ts';
import { wrap, type Tensor } from '../engine/tensor.ts';
import { TrainerError } from '../protocol/errors.ts';
import { loraTargets, type BaseType } from '../protocol/lora-config.ts';
import { wholeWeights, type Weights } from './decoder.ts';
import { float16ToFloat32, float32ToFloat16, requireFloat16 } from './half.ts';
import { dequantizeBlocks, quantizeBlocks } from './blocks.ts';

/**
 * A frozen model in memory. The matrices of its linear layers are kept in `type`; embeddings, output matrix, norms and biases in float32. Parts of a
 * quantised matrix have the names `<parameter>` (codes) and `<parameter> scales`.
 */
export interface FrozenBase { readonly type: BaseType; readonly tensors: ReadonlyMap<string, Tensor> }

/** The name of a quantised matrix's scales. */
export const scalesOf = (name: string) => `${name} scales`;

/** The parts in which a parameter is kept. Throws TrainerError `bad_input` when rows do not divide into blocks. */
export function frozenParts(name: string, tensor: Tensor<'float32'>, type: BaseType): [string, Tensor][] {
  if (type === 'float32' || !isOfLinearLayer(name)) return [[name, tensor]];
  if (type === 'float16') {
    requireFloat16('base_dtype "float16"', name, tensor.data);
    return [[name, wrap('float16', tensor.shape, float32ToFloat16(tensor.data))]];
  }
  const [out = 0, input = 0] = tensor.shape;
  if (input % blockSize !== 0) throw new TrainerError('bad_input', `The rows of "${name}" have ${input} values, and ${type} keeps them in blocks of ${blockSize}. Use base_dtype "float16".`);
  const { codes, scales } = quantizeBlocks(tensor.data, type);
  const blocks = input / blockSize;
  return [[name, wrap('uint8', [out, blocks, codes.length / out / blocks], codes)], [scalesOf(name), wrap('float32', [out, blocks], scales)]];
}

/** The value of a parameter as it is computed with, float32. A copy, unless it is kept so. */
export function frozenValue({ type, tensors }: FrozenBase, name: string): Tensor<'float32'> {
  const kept = tensors.get(name) as Tensor;
  if (kept.dtype === 'float32') return kept as Tensor<'float32'>;
  if (kept.dtype === 'float16') return wrap('float32', kept.shape, float16ToFloat32(kept.data as Uint16Array));
  const [out = 0, blocks = 0] = kept.shape;
  return wrap('float32', [out, blocks * blockSize], dequantizeBlocks(kept.data as Uint8Array, tensors.get(scalesOf(name))!.data as Float32Array, type === 'int8' ? 'int8' : 'int4'));
}

/** The parameters of a base, by their names. */
export function parameterNames({ tensors }: FrozenBase): string[] { return [...tensors.keys()].filter((name) => !name.endsWith(scalesOf(''))); }

/** A base's weights in a graph whose values `leaf` gives. `packed`: those of linear layers are constants. */
export function baseWeights(b: GraphBuilder, { type }: Pick<FrozenBase, 'type'>, leaf: (name: string) => Value, packed: boolean): Weights {
  const whole = wholeWeights(b, leaf);
  if (type === 'float32') return whole;
  const format: FrozenFormat = type;
  return {
    ...whole,
    linear(x, name) {
      if (!isOfLinearLayer(name)) return whole.linear(x, name);
      return b.frozenMatmul(x, format === 'float16' ? [leaf(name)] : [leaf(name), leaf(scalesOf(name))], format, { packed });
    },
  };
}

/** Whether a part of a base is of the matrix of a linear layer, which embeddings and output matrix are not. */
export function isOfLinearLayer(part: string): boolean {
  const [module = '', kind = ''] = part.split('.').slice(-2);
  return (kind === 'weight' || kind === scalesOf('weight')) && loraTargets.some((target) => target === module);
}
