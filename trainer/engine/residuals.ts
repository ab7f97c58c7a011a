import type { Value } from './graph.ts';
import { reachableCalls } from './reachable.ts';

/** Results that cost about as much to compute again as to read. */
const cheap: ReadonlySet<string> = new Set([
  'add', 'sub', 'mul', 'div', 'neg', 'exp', 'log', 'sqrt', 'sigmoid', 'silu', 'tanh', 'geluTanh', 'cast', 'where', 'equal', 'less', 'lessOrEqual', 'minimum', 'maximum',
  'stopGradient', 'rmsNorm', 'reshape', 'transpose', 'expand', 'slice', 'concat', 'split',
]);

/**
 * What a forward pass must keep so that the backward pass can run as a graph of its own that begins with `inputs` and these values. Cheap results are left
 * out, and computed again from kept ones (selective recomputation, Korthikanti et al. 2022).
 */
export function residuals(inputs: ReadonlySet<Value>, forward: readonly Value[], backward: readonly Value[]): Value[] {
  const before = new Set(reachableCalls(forward, inputs));
  const kept = new Set<Value>();
  const seen = new Set<Value>();
  const need = (value: Value): void => {
    if (seen.has(value) || inputs.has(value) || value.source.kind !== 'call') return;
    seen.add(value);
    const { call } = value.source;
    if (before.has(call) && !cheap.has(call.op.name)) kept.add(value);
    else call.inputs.forEach(need);
  };
  backward.forEach(need);
  return [...kept];
}
