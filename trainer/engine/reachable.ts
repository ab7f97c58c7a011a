import type { Call, Value } from './graph.ts';

/** The calls that `outputs` depend on, not looking behind `inputs`, in an order in which each comes after those that it uses. */
export function reachableCalls(outputs: Iterable<Value>, inputs: ReadonlySet<Value>): Call[] {
  const found = new Set<Call>();
  const stack = [...outputs];
  for (let value = stack.pop(); value !== undefined; value = stack.pop()) {
    if (inputs.has(value) || value.source.kind !== 'call' || found.has(value.source.call)) continue;
    found.add(value.source.call);
    stack.push(...value.source.call.inputs);
  }
  return [...found].sort((a, b) => a.id - b.id);
}
