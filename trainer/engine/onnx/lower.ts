import { TrainerError } from '../../protocol/errors.ts';
import type { Call, Graph, Value } from '../graph.ts';
import { reachableCalls } from '../reachable.ts';
import { dynamicType, type DynamicAxis } from './dynamic-axes.ts';
import { OnnxEmitter } from './emitter.ts';
import type { OnnxModel, OnnxNode } from './model-proto.ts';
import type { ProviderProfile } from './profile.ts';

/** Lowers a graph to ONNX operators. Only what the outputs reach is emitted; unused inputs stay declared. Axes are static but for the `axes` given. */
export function lower(graph: Graph, profile: ProviderProfile, axes: readonly DynamicAxis[] = []): OnnxModel {
  if (graph.outputs.size === 0) throw new TrainerError('internal', 'compile: the graph has no outputs; name one with output()');
  const emitter = new OnnxEmitter(profile, axes);
  const names = new Map<Value, string>();
  for (const [name, value] of graph.inputs) names.set(value, name);
  for (const call of reachableCalls(graph.outputs.values(), new Set(graph.inputs.values()))) lowerCall(emitter, call, names);
  const nodes = nameOutputs(emitter, graph, names);
  const types = (values: ReadonlyMap<string, Value>) => new Map([...values].map(([name, value]) => [name, dynamicType(value, axes)]));
  return { nodes, initializers: emitter.initializers, inputs: types(graph.inputs), outputs: types(graph.outputs) };
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

/**
 * Gives results their output names in place. Only inputs, constants and second names cost an Identity node, which copies
 * (and would break writing a result into the memory of an input).
 */
function nameOutputs(emitter: OnnxEmitter, graph: Graph, names: Map<Value, string>): OnnxNode[] {
  const produced = new Set(emitter.nodes.flatMap((node) => node.outputs));
  const renamed = new Map<string, string>();
  const copies: OnnxNode[] = [];
  for (const [name, value] of graph.outputs) {
    const source = nameOf(value, names, emitter);
    if (produced.has(source) && !renamed.has(source)) renamed.set(source, name);
    else copies.push({ name: `output ${name}`, opType: 'Identity', domain: '', inputs: [renamed.get(source) ?? source], outputs: [name], attributes: {} });
  }
  const rename = (list: readonly string[]) => list.map((name) => renamed.get(name) ?? name);
  const nodes = emitter.nodes.map((node) => ({ ...node, inputs: rename(node.inputs), outputs: rename(node.outputs) }));
  return [...nodes, ...copies];
}
