import { allocateBlock, type ParameterBlock } from '../models/weights.ts';

/** Exponential moving average a ← decay · a + (1 - decay) · w, in place; without one so far, a copy of the weights. */
export function movedAverage(average: ParameterBlock | null, { flat, tensors }: ParameterBlock, decay: number): ParameterBlock {
  if (!average) {
    const first = allocateBlock(tensors);
    first.flat.set(flat);
    return first;
  }
  const to = average.flat;
  for (let i = 0; i < to.length; i++) to[i] = decay * (to[i] as number) + (1 - decay) * (flat[i] as number);
  return average;
}
