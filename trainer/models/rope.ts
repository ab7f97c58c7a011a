import type { GraphBuilder, Value } from '../engine/graph.ts';
import { wrap, type Tensor } from '../engine/tensor.ts';

/** How a rotary embedding was stretched to a longer context than it was first trained with; names as in config.json. */
export type RopeScaling =
  | { type: 'linear'; factor: number }
  /** Llama 3.1: low frequencies divided by `factor`, high ones kept, those between blended. */
  | { type: 'llama3'; factor: number; lowFreqFactor: number; highFreqFactor: number; originalContext: number }
  /** YaRN (Peng et al. 2023). `attentionFactor` multiplies cosine and sine. */
  | { type: 'yarn'; factor: number; originalContext: number; betaFast: number; betaSlow: number; attentionFactor: number };

export interface Rope { theta: number; scaling: RopeScaling | null }

/** Rotary tables [length, headDim/2], angle = position · frequency, computed in float64 (Su et al. 2021). */
export function ropeAngles(headDim: number, rope: Rope, length: number): { cos: Tensor<'float32'>; sin: Tensor<'float32'> } {
  const half = headDim / 2;
  const frequencies = ropeFrequencies(rope, headDim);
  const magnitude = rope.scaling?.type === 'yarn' ? rope.scaling.attentionFactor : 1;
  const angle = (i: number) => Math.floor(i / half) * (frequencies[i % half] as number);
  const table = (f: (x: number) => number) => wrap('float32', [length, half], Float32Array.from({ length: length * half }, (_, i) => magnitude * f(angle(i))));
  return { cos: table(Math.cos), sin: table(Math.sin) };
}

/** The same as constants of a graph. */
export function ropeTables(b: GraphBuilder, headDim: number, rope: Rope, length: number): { cos: Value; sin: Value } {
  const { cos, sin } = ropeAngles(headDim, rope, length);
  return { cos: b.constant(cos), sin: b.constant(sin) };
}

/** Angle per position of each pair of elements, [headDim/2]: theta^(-2i/headDim), scaled. */
export function ropeFrequencies({ theta, scaling }: Rope, headDim: number): number[] {
  const half = headDim / 2;
  const plain = Array.from({ length: half }, (_, i) => theta ** (-i / half));
  switch (scaling?.type) {
    case undefined: return plain;
    case 'linear': return plain.map((frequency) => frequency / scaling.factor);
    case 'llama3': return plain.map((frequency) => {
      const turns = scaling.originalContext * frequency / (2 * Math.PI);
      const kept = clamp((turns - scaling.lowFreqFactor) / (scaling.highFreqFactor - scaling.lowFreqFactor));
      return frequency * (kept + (1 - kept) / scaling.factor);
    });
    case 'yarn': {
      const pairOf = (turns: number) => half * Math.log(scaling.originalContext / (turns * 2 * Math.PI)) / Math.log(theta);
      const first = Math.max(Math.floor(pairOf(scaling.betaFast)), 0);
      const last = Math.min(Math.ceil(pairOf(scaling.betaSlow)), headDim - 1);
      return plain.map((frequency, i) => {
        const kept = 1 - clamp((i - first) / Math.max(last - first, 0.001));
        return frequency * (kept + (1 - kept) / scaling.factor);
      });
    }
  }
}

/** YaRN's correction of the attention temperature for a stretched context (Peng et al. 2023, eq. 22). */
export function yarnAttentionFactor(factor: number, scale = 1): number { return factor <= 1 ? 1 : 0.1 * scale * Math.log(factor) + 1; }

function clamp(x: number): number { return Math.min(Math.max(x, 0), 1); }
