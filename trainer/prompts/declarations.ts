import type { SyntaxNode } from '@lezer/common';
import type { Span } from '../source/program.ts';
import { children, textOf } from '../source/syntax.ts';
import type { Source } from '../source/syntax.ts';

/** What a name is bound to where it is declared. */
export type Declared =
  | { kind: 'value'; node: SyntaxNode; keys: string[] }
  | { kind: 'parameter'; function: SyntaxNode; index: number; name: string; keys: string[]; initial: SyntaxNode | null }
  | { kind: 'element'; of: SyntaxNode };

/** What the name at a place of its declaration is bound to; null when that cannot be told. */
export function declaredAt(source: Source, at: Span): Declared | null {
  const node = source.root.resolveInner(at.from, 1);
  return source.language === 'python' ? inPython(source, node) : inScript(source, node, []);
}

function inPython(source: Source, name: SyntaxNode): Declared | null {
  const target = name.parent?.name === 'MemberExpression' ? name.parent : name;
  const { parent } = target;
  switch (parent?.name) {
    case 'AssignStatement': return assigned(parent, target);
    case 'NamedExpression': return parent.lastChild === null ? null : { kind: 'value', node: parent.lastChild, keys: [] };
    case 'WithStatement': {
      const value = target.prevSibling?.prevSibling ?? null;
      return value === null ? null : { kind: 'value', node: value, keys: [] };
    }
    case 'ForStatement': return elementOf(parent);
    case 'ParamList': return parent.parent === null ? null : parameter(source, parent, parent.parent, target, textOf(source, target), []);
    default: return null;
  }
}

function assigned(statement: SyntaxNode, target: SyntaxNode): Declared | null {
  const groups: SyntaxNode[][] = [[]];
  for (const child of children(statement)) {
    if (child.name === 'AssignOp') groups.push([]);
    else if (child.name !== ',' && child.name !== 'TypeDef') groups.at(-1)?.push(child);
  }
  const values = groups.length > 1 ? groups.pop() ?? [] : [];
  const targets = groups.find((group) => group.some(({ from }) => from === target.from)) ?? [];
  const value = values.length === targets.length ? values[targets.findIndex(({ from }) => from === target.from)] : values[0];
  return value === undefined ? null : { kind: 'value', node: value, keys: values.length === targets.length ? [] : ['*'] };
}

function elementOf(statement: SyntaxNode): Declared | null {
  const of = (statement.getChild('in') ?? statement.getChild('of'))?.nextSibling ?? null;
  return of === null ? null : { kind: 'element', of };
}

function inScript(source: Source, name: SyntaxNode, keys: string[]): Declared | null {
  const target = name.parent?.name === 'MemberExpression' ? name.parent : name;
  const { parent } = target;
  switch (parent?.name) {
    case 'PatternProperty': {
      const key = textOf(source, parent.getChild('PropertyName') ?? target);
      return parent.parent === null ? null : inScript(source, parent.parent, [key, ...keys]);
    }
    case 'ArrayPattern': return inScript(source, parent, ['*', ...keys]);
    case 'VariableDeclaration': case 'PropertyDeclaration': {
      let equals = target.nextSibling;
      while (equals !== null && equals.name !== 'Equals' && equals.name !== ',') equals = equals.nextSibling;
      return equals?.name === 'Equals' && equals.nextSibling !== null ? { kind: 'value', node: equals.nextSibling, keys } : null;
    }
    case 'AssignmentExpression': return parent.lastChild === null ? null : { kind: 'value', node: parent.lastChild, keys };
    case 'ForOfSpec': return elementOf(parent);
    case 'ParamList': return parent.parent === null ? null : parameter(source, parent, parent.parent, target, textOf(source, target), keys);
    default: return null;
  }
}

function parameter(source: Source, list: SyntaxNode, owner: SyntaxNode, target: SyntaxNode, name: string, keys: string[]): Declared {
  let index = 0;
  let initial: SyntaxNode | null = null;
  for (const child of children(list)) {
    if (child.name === ',' && child.from < target.from) index++;
  }
  for (let next = target.nextSibling; next !== null && next.name !== ','; next = next.nextSibling) {
    if (next.name === 'Equals' || next.name === 'AssignOp') initial = next.nextSibling;
  }
  return { kind: 'parameter', function: owner, index, name, keys, initial };
}

/** The values a function gives back. */
export function returnsOf(node: SyntaxNode): SyntaxNode[] {
  if (node.name === 'LambdaExpression' || (node.name === 'ArrowFunction' && node.lastChild?.name !== 'Block')) return node.lastChild === null ? [] : [node.lastChild];
  const found: SyntaxNode[] = [];
  const visit = (at: SyntaxNode): void => {
    for (const child of children(at)) {
      if (/^(FunctionDefinition|FunctionDeclaration|FunctionExpression|ArrowFunction|LambdaExpression|ClassDefinition|ClassDeclaration|MethodDeclaration)$/.test(child.name)) continue;
      if (child.name === 'ReturnStatement' || child.name === 'YieldStatement' || child.name === 'YieldExpression') for (const value of children(child)) if (!/^(return|yield|;|,|Star|from)$/.test(value.name)) found.push(value);
      visit(child);
    }
  };
  visit(node);
  return found;
}

/** A subscript or attribute: of what, and by which key; `*` for one that is computed. */
export function memberOf(source: Source, node: SyntaxNode): { of: SyntaxNode; key: string } | null {
  const of = node.firstChild;
  if (node.name !== 'MemberExpression' || of === null) return null;
  const property = node.getChild('PropertyName') ?? node.getChild('PrivatePropertyName');
  if (property !== null) return { of, key: textOf(source, property) };
  const index = node.getChild('[')?.nextSibling ?? null;
  const literal = index?.name === 'String' ? textOf(source, index).slice(1, -1) : null;
  return { of, key: literal ?? '*' };
}
