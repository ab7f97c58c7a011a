import type { Call, Graph } from './graph.ts';

/** The calls that a graph's outputs depend on, in an order in which each comes after those that it uses. */
export function reachableCalls(graph: Graph): Call[] {
  const found = new Set<Call>();
  const stack = [...graph.outputs.values()];
  for (let value = stack.pop(); value !== undefined; value = stack.pop()) {
    if (value.source.kind !== 'call' || found.has(value.source.call)) continue;
    found.add(value.source.call);
    stack.push(...value.source.call.inputs);
  }
  return [...found].sort((a, b) => a.id - b.id);
}
