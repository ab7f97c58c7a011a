import { TrainerError } from '../../protocol/errors.ts';
import type { DType } from '../tensor.ts';

/** TensorFlow.js, whichever of its packages brings the backend. Types only: nothing is loaded. */
export type TensorFlow = typeof import('@tensorflow/tfjs-core');
export type TfTensor = import('@tensorflow/tfjs-core').Tensor;

const dtypes = { float32: 'float32', int32: 'int32', int64: 'int32', bool: 'bool' } as const;

/** The element type that stands for ours. Throws `environment` for those that TensorFlow.js has not. */
export function tfDType(where: string, dtype: DType): 'float32' | 'int32' | 'bool' {
  if (dtype === 'float64' || dtype === 'float16' || dtype === 'uint8') throw new TrainerError('environment', `${where}: TensorFlow.js has no ${dtype}. Use float32, or the provider "cpu".`);
  return dtypes[dtype];
}
