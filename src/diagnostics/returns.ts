import type { SyntaxNode } from '@lezer/common';
import { calleeOf, children, descendants, isText, itemsOf, nodesOf, pathOf, textOf } from '../../trainer/source/syntax.ts';
import type { Source } from '../../trainer/source/syntax.ts';
import type { AgentView } from './finding.ts';
import { isComparison } from './flow.ts';

const functions = ['FunctionDefinition', 'FunctionDeclaration', 'FunctionExpression', 'ArrowFunction', 'LambdaExpression', 'MethodDeclaration', 'ClassDefinition', 'ClassDeclaration'];

/** The rewards that the agent returns, without the reasons beside them: each value with its statement (null: an arrow function that is its value). Functions inside return for themselves. */
export function returnsOf({ source, target }: AgentView): { value: SyntaxNode; statement: SyntaxNode | null }[] {
  if (target.node.name === 'ArrowFunction' && target.body.name !== 'Block') return [{ value: withoutReason(source, target.body), statement: null }];
  const found: { value: SyntaxNode; statement: SyntaxNode }[] = [];
  for (const node of descendants(target.body, ({ name }) => !functions.includes(name))) {
    const value = node.name === 'ReturnStatement' ? node.firstChild?.nextSibling : null;
    if (value !== null && value !== undefined && value.name !== ';' && !isNothing(source, value)) found.push({ value: withoutReason(source, value), statement: node });
  }
  return found;
}

/** The reward in `(0.5, "why")`, `{"reward": 0.5, "reason": "why"}` or `{ reward: 0.5, reason }`. */
function withoutReason(source: Source, value: SyntaxNode): SyntaxNode {
  const inner = value.name === 'ParenthesizedExpression' ? value.firstChild?.nextSibling ?? value : value; // of an arrow function
  if (inner.name === 'TupleExpression') {
    const items = itemsOf(source, inner);
    return items.length === 2 && items[0]?.value != null ? items[0].value : value;
  }
  if (inner.name !== 'ObjectExpression' && inner.name !== 'DictionaryExpression') return value;
  return itemsOf(source, inner).find(({ name }) => name === 'reward')?.value ?? value;
}

const isNothing = (source: Source, node: SyntaxNode): boolean => ['None', 'null', 'undefined'].includes(textOf(source, node));

/** Calls that emit a reward, in the given part of the file. */
export function emitsIn(source: Source, part: SyntaxNode): SyntaxNode[] {
  return nodesOf(part, ['CallExpression']).filter((node) => ['emit_reward', 'emitReward'].includes(pathOf(source, calleeOf(node))?.at(-1) ?? ''));
}

/** What a value certainly is other than a number; null: it may be one. */
export function notANumber(source: Source, value: SyntaxNode): 'text' | 'boolean' | 'object' | null {
  if (isText(value)) return 'text';
  if (isComparison(value)) return 'boolean';
  if (['ObjectExpression', 'DictionaryExpression', 'ArrayExpression', 'TupleExpression', 'SetExpression'].includes(value.name)) return 'object';
  const path = value.name === 'MemberExpression' && value.lastChild !== null ? textOf(source, value.lastChild) : '';
  if (['content', 'output_text', 'text'].includes(path)) return 'text';
  if (value.name === 'BinaryExpression' && [...children(value)].some(isText)) return 'text';
  return null;
}
