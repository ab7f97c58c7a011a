import type { SyntaxNode } from '@lezer/common';
import { assignmentsIn, children, descendants, itemsOf, textOf, unquoted } from '../../trainer/source/syntax.ts';
import type { AgentView } from './finding.ts';

/** A field of the task that the agent reads. Optional: it can do without (`get`, `??`, a default). */
export interface TaskRead { field: string; node: SyntaxNode; key: SyntaxNode; optional: boolean; /** The variable it is bound to by destructuring. */ bound: string | null }

/** The names the task has in the agent. */
export function taskNames({ source, target }: AgentView): Set<string> {
  const first = itemsOf(source, target.parameters)[0];
  const names = new Set<string>();
  const name = first?.nodes.find((node) => node.name === 'VariableName' || node.name === 'VariableDefinition');
  if (name !== undefined) names.add(textOf(source, name));
  for (const [alias, value] of assignmentsIn(source, target.body)) if (value.name === 'VariableName' && names.has(textOf(source, value))) names.add(alias);
  return names;
}

/** Every reading of a field of the task, in order. */
export function taskReads(view: AgentView): TaskRead[] {
  const { source, target } = view;
  const names = taskNames(view);
  const isTask = (node: SyntaxNode | null): boolean => node?.name === 'VariableName' && names.has(textOf(source, node));
  const reads: TaskRead[] = [];
  const pattern = itemsOf(source, target.parameters)[0]?.nodes.find((node) => node.name === 'ObjectPattern');
  if (pattern !== undefined) reads.push(...destructured(view, pattern));
  for (const node of descendants(target.body)) {
    if (node.name === 'MemberExpression' && isTask(node.firstChild)) {
      const key = node.lastChild?.name === ']' ? node.lastChild.prevSibling : node.lastChild;
      const called = node.parent?.name === 'CallExpression' && node.parent.firstChild?.from === node.from ? node.parent : null;
      if (key?.name === 'String') reads.push({ field: unquoted(source, key), node, key, optional: isOptional(node), bound: null });
      else if (key?.name === 'PropertyName' && source.language === 'node' && called === null) reads.push({ field: textOf(source, key), node, key, optional: isOptional(node), bound: null });
      else if (key?.name === 'PropertyName' && textOf(source, key) === 'get' && called !== null) {
        const argument = itemsOf(source, called.getChild('ArgList'))[0]?.value;
        if (argument?.name === 'String') reads.push({ field: unquoted(source, argument), node: called, key: argument, optional: true, bound: null });
      }
    } else if (node.name === 'VariableDeclaration' && isTask(node.lastChild?.name === ';' ? node.lastChild.prevSibling : node.lastChild)) {
      const taken = node.getChild('ObjectPattern');
      if (taken !== null) reads.push(...destructured(view, taken));
    }
  }
  return reads.sort((a, b) => a.node.from - b.node.from);
}

function destructured({ source }: AgentView, pattern: SyntaxNode): TaskRead[] {
  return pattern.getChildren('PatternProperty').flatMap((property) => {
    const key = property.firstChild;
    if (key === null || key.name === 'Spread') return [];
    const bound = property.getChild('VariableDefinition');
    return [{ field: textOf(source, key), node: property, key, optional: [...children(property)].some(({ name }) => name === 'Equals'), bound: bound === null ? null : textOf(source, bound) }];
  });
}

function isOptional(node: SyntaxNode): boolean {
  if ([...children(node)].some(({ name }) => name === '?.')) return true;
  const { parent } = node; // `task.x ?? y`; in Python's `task["x"] or y` the field must be there
  return parent?.name === 'BinaryExpression' && parent.firstChild?.from === node.from && parent.firstChild.nextSibling?.name === 'LogicOp';
}
