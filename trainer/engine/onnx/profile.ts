import type { Provider } from '../../protocol/providers.ts';
import type { FrozenFormat } from '../ops/frozen.ts';

/** An execution provider of ONNX Runtime. */
export type OnnxProvider = Exclude<Provider, 'tensorflow'>;

/** Which operators a provider has (and computes correctly); decides the lowering. */
export interface ProviderProfile {
  /** com.microsoft FusedMatMul: transposed operands without a copy, and a scale. */
  readonly fusedMatMul: boolean;
  readonly logSoftmax: boolean;
  /** SimplifiedLayerNormalization whose second output is really the inverse deviation (on WebGPU it is the mean). */
  readonly fusedRmsNorm: boolean;
  /** com.microsoft RotaryEmbedding. */
  readonly fusedRope: boolean;
  readonly split: boolean;
  /** One compiled graph serves inputs of many sizes; elsewhere each size is compiled. */
  readonly anySize: boolean;
  /** Gemm, which takes transposed matrices without a copy, where there is no FusedMatMul. */
  readonly gemm: boolean;
  /** com.microsoft MatMulNBits with float32 activations. */
  readonly matMulNBits: boolean;
  /** Formats of frozen matrices that were tested on the provider. */
  readonly frozen: readonly FrozenFormat[];
}

/** What all have. */
const portable: ProviderProfile = { fusedMatMul: false, logSoftmax: false, fusedRmsNorm: false, fusedRope: false, split: false, anySize: false, gemm: false, matMulNBits: false, frozen: [] };

export const profiles: Readonly<Record<OnnxProvider, ProviderProfile>> = {
  cpu: { fusedMatMul: true, logSoftmax: true, fusedRmsNorm: true, fusedRope: true, split: true, anySize: true, gemm: false, matMulNBits: true, frozen: ['float16', 'int8', 'int4'] },
  cuda: { fusedMatMul: true, logSoftmax: true, fusedRmsNorm: false, fusedRope: false, split: true, anySize: false, gemm: false, matMulNBits: false, frozen: [] },
  webgpu: portable,
  dml: portable,
  coreml: portable,
};

/** Operators of the ONNX standard alone, for files that other programs read. */
export const standardOperators: ProviderProfile = { fusedMatMul: false, logSoftmax: true, fusedRmsNorm: false, fusedRope: false, split: true, anySize: false, gemm: true, matMulNBits: false, frozen: [] };
