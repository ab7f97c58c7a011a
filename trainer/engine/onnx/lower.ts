import { TrainerError } from '../../protocol/errors.ts';
import type { Call, Graph, Value } from '../graph.ts';
import { OnnxEmitter } from './emitter.ts';
import type { OnnxModel } from './model-proto.ts';
import type { ProviderProfile } from './profile.ts';

/** Lowers a graph to ONNX operators. Only what the outputs reach is emitted; unused inputs stay declared. */
export function lower(graph: Graph, profile: ProviderProfile): OnnxModel {
  if (graph.outputs.size === 0) throw new TrainerError('internal', 'compile: the graph has no outputs; name one with output()');
  const emitter = new OnnxEmitter(profile);
  const names = new Map<Value, string>();
  for (const [name, value] of graph.inputs) names.set(value, name);
  for (const call of reachableCalls(graph)) lowerCall(emitter, call, names);
  for (const [name, value] of graph.outputs) nameOutput(emitter, name, nameOf(value, names, emitter));
  return { nodes: emitter.nodes, initializers: emitter.initializers, inputs: graph.inputs, outputs: graph.outputs };
}

function lowerCall(emitter: OnnxEmitter, call: Call, names: Map<Value, string>): void {
  emitter.scope = `${call.op.name}#${call.id}`;
  const inputs = call.inputs.map((value) => nameOf(value, names, emitter));
  const results = call.op.onnx(emitter, { inputs, types: call.inputs, outputs: call.outputs, attrs: call.attrs });
  call.outputs.forEach((value, i) => names.set(value, results[i] as string));
}

function nameOf(value: Value, names: Map<Value, string>, emitter: OnnxEmitter): string {
  const known = names.get(value);
  if (known !== undefined) return known;
  if (value.source.kind !== 'constant') throw new TrainerError('internal', 'compile: a value of another graph was used');
  const name = `constant#${value.id}`;
  emitter.initializers.set(name, value.source.tensor);
  names.set(value, name);
  return name;
}

/** An ONNX output is the result of a node of its own: values may have several names, or be an input. */
function nameOutput(emitter: OnnxEmitter, name: string, source: string): void {
  emitter.nodes.push({ name: `output ${name}`, opType: 'Identity', domain: '', inputs: [source], outputs: [name], attributes: {} });
}

function reachableCalls(graph: Graph): Call[] {
  const found = new Set<Call>();
  const stack = [...graph.outputs.values()];
  for (let value = stack.pop(); value !== undefined; value = stack.pop()) {
    if (value.source.kind !== 'call' || found.has(value.source.call)) continue;
    found.add(value.source.call);
    stack.push(...value.source.call.inputs);
  }
  return [...found].sort((a, b) => a.id - b.id);
}
