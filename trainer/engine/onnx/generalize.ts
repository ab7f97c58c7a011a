import { isDeepStrictEqual } from 'node:util';
import { TrainerError } from '../../protocol/errors.ts';
import type { Tensor } from '../tensor.ts';
import type { DynamicType } from './dynamic-axes.ts';
import type { OnnxModel } from './model-proto.ts';

/**
 * One model for all sizes, from two that should be the same computation at different ones: axes of inputs and outputs that differ become dynamic.
 * Throws `internal` where anything else differs: an operator that writes a size into the model, or a table made for one.
 */
export function generalize(a: OnnxModel, b: OnnxModel): OnnxModel {
  const names = canonicalNames(a, b);
  const nodes = b.nodes.map((node) => ({ ...node, name: names(node.name), inputs: node.inputs.map(names), outputs: node.outputs.map(names) }));
  a.nodes.forEach((node, i) => {
    if (!isDeepStrictEqual(node, nodes[i])) throw different(`${node.name} and ${nodes[i]?.name ?? 'nothing'}`);
  });
  if (a.nodes.length !== nodes.length) throw different('the number of nodes');
  const constants = new Map([...b.initializers].map(([name, value]) => [names(name), value]));
  for (const [name, value] of a.initializers) if (!sameTensor(value, constants.get(name))) throw different(`the constant ${name}`);
  if (a.initializers.size !== constants.size) throw different('the number of constants');
  return { ...a, inputs: merged(a.inputs, b.inputs), outputs: merged(a.outputs, b.outputs) };
}

/** Names carry the ids of the values they were lowered from; what is at the same place has the same name. */
function canonicalNames(a: OnnxModel, b: OnnxModel): (name: string) => string {
  const names = new Map<string, string>();
  const pair = (mine: readonly string[], theirs: readonly string[]) => theirs.forEach((name, i) => { if (!names.has(name)) names.set(name, mine[i] ?? name); });
  a.nodes.forEach((node, i) => {
    const other = b.nodes[i];
    if (!other) return;
    pair([node.name, ...node.inputs, ...node.outputs], [other.name, ...other.inputs, ...other.outputs]);
  });
  return (name) => names.get(name) ?? name;
}

function merged(a: ReadonlyMap<string, DynamicType>, b: ReadonlyMap<string, DynamicType>): Map<string, DynamicType> {
  return new Map([...a].map(([name, { dtype, shape }]) => {
    const other = b.get(name);
    if (other?.dtype !== dtype || other.shape.length !== shape.length) throw different(`the type of ${name}`);
    return [name, { dtype, shape: shape.map((dim, i) => (dim === other.shape[i] ? dim : `${name} ${i}`)) }];
  }));
}

function sameTensor(a: Tensor, b: Tensor | undefined): boolean {
  return a.data === b?.data || (isDeepStrictEqual(a.shape, b?.shape) && isDeepStrictEqual(a.data, b?.data));
}

function different(what: string): TrainerError {
  return new TrainerError('internal', `compile: a graph for any size must be the same at two sizes; ${what} differ`);
}
