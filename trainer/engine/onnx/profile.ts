/** An ONNX Runtime execution provider the engine can emit graphs for. */
export type Provider = 'cpu' | 'webgpu' | 'cuda';

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
  /** ScatterND needs int64 indices, which WebGPU cannot make from int32; there rows go through ScatterElements. */
  readonly scatterNdIndex: 'int64' | 'none';
}

export const profiles: Readonly<Record<Provider, ProviderProfile>> = {
  cpu: { fusedMatMul: true, logSoftmax: true, fusedRmsNorm: true, fusedRope: true, split: true, scatterNdIndex: 'int64' },
  cuda: { fusedMatMul: true, logSoftmax: true, fusedRmsNorm: false, fusedRope: false, split: true, scatterNdIndex: 'int64' },
  webgpu: { fusedMatMul: false, logSoftmax: false, fusedRmsNorm: false, fusedRope: false, split: false, scatterNdIndex: 'none' },
};
