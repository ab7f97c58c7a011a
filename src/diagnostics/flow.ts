import type { SyntaxNode } from '@lezer/common';
import { calleeOf, children, descendants, itemsOf, pathOf, textOf } from '../../trainer/source/syntax.ts';
import type { Source } from '../../trainer/source/syntax.ts';

/** Functions whose result still holds the text they were given. */
const passing = new Set(['str', 'repr', 'list', 'String', 'dumps', 'stringify', 'format', 'join', 'strip', 'lower', 'upper', 'title', 'replace', 'trim', 'toString', 'toLowerCase', 'toUpperCase', 'concat', 'slice', 'split', 'dedent']);
const adding = new Set(['append', 'extend', 'insert', 'push', 'unshift', 'add', 'update']);

/**
 * Which variables of a function hold a value that comes from one of `origins`, by following assignments in this function only. What a
 * function of the user's makes of such a value (a score, say) is not followed.
 */
export class Flow {
  private readonly source: Source;
  private readonly origins: (node: SyntaxNode) => boolean;
  private readonly holding: Set<string>;

  constructor(source: Source, body: SyntaxNode, origins: (node: SyntaxNode) => boolean, bound: Iterable<string>) {
    this.source = source;
    this.origins = origins;
    this.holding = new Set(bound);
    for (let size = -1; size !== this.holding.size;) {
      size = this.holding.size;
      for (const node of descendants(body)) this.follow(node);
    }
  }

  /** The first place in an expression that brings such a value in, whatever is made of it there; undefined: none. */
  entry(expression: SyntaxNode): SyntaxNode | undefined {
    for (const node of descendants(expression)) {
      if (this.origins(node) || (node.name === 'VariableName' && this.holding.has(textOf(this.source, node)) && !this.isCompared(node, expression))) return node;
    }
    return undefined;
  }

  private follow(node: SyntaxNode): void {
    if (node.name === 'AssignStatement' || node.name === 'UpdateStatement' || node.name === 'AssignmentExpression') {
      const value = node.lastChild;
      if (value !== null && this.carries(value)) for (const child of children(node)) if (child.to < value.from) this.hold(child);
    } else if (node.name === 'VariableDeclaration') {
      for (const { nodes } of itemsOf(this.source, node)) {
        const value = nodes.at(-1);
        const equals = nodes.find(({ name }) => name === 'Equals');
        if (equals !== undefined && value !== undefined && this.carries(value)) for (const each of nodes) if (each.to < equals.to) this.hold(each);
      }
    } else if (node.name === 'ForStatement' || node.name === 'ForOfSpec') {
      const marker = node.getChild('in') ?? node.getChild('of');
      if (marker?.nextSibling !== null && marker?.nextSibling !== undefined && this.carries(marker.nextSibling)) for (const child of children(node)) if (child.to <= marker.from) this.hold(child);
    } else if (node.name === 'CallExpression') {
      const callee = calleeOf(node);
      const path = pathOf(this.source, callee);
      if (path !== null && path.length > 1 && adding.has(path.at(-1) ?? '') && itemsOf(this.source, node.getChild('ArgList')).some(({ value }) => value !== null && this.carries(value))) this.holding.add(path[0] ?? '');
    }
  }

  private hold(target: SyntaxNode): void {
    if (target.name === 'MemberExpression') {
      if (target.firstChild?.name === 'VariableName') this.holding.add(textOf(this.source, target.firstChild)); // message["content"] = …
    } else if (target.name === 'VariableName' || target.name === 'VariableDefinition') this.holding.add(textOf(this.source, target));
  }

  private carries(node: SyntaxNode): boolean {
    if (this.origins(node)) return true;
    if (node.name === 'VariableName') return this.holding.has(textOf(this.source, node));
    if (node.name === 'PropertyDefinition' && node.nextSibling === null && node.parent?.name === 'Property') return this.holding.has(textOf(this.source, node)); // { answer }
    if (isComparison(node)) return false;
    if (node.name === 'CallExpression') {
      const callee = calleeOf(node);
      const name = callee?.name === 'MemberExpression' ? callee.lastChild : callee;
      if (name === null || name === undefined || !passing.has(textOf(this.source, name))) return false;
    }
    if (node.name === 'FunctionDefinition' || node.name === 'ArrowFunction' || node.name === 'LambdaExpression' || node.name === 'FunctionExpression') return false;
    for (const child of children(node)) if (this.carries(child)) return true;
    return false;
  }

  private isCompared(node: SyntaxNode, within: SyntaxNode): boolean {
    for (let at: SyntaxNode | null = node; at !== null && at.from >= within.from && at.to <= within.to; at = at.parent) if (isComparison(at)) return true;
    return false;
  }
}

/** Whether an expression is true or false and nothing else. */
export function isComparison(node: SyntaxNode): boolean {
  if (node.name === 'BooleanLiteral' || node.name === 'Boolean') return true;
  if (node.name === 'ParenthesizedExpression') return node.firstChild?.nextSibling !== null && node.firstChild?.nextSibling !== undefined && isComparison(node.firstChild.nextSibling);
  if (node.name === 'UnaryExpression') return node.firstChild?.name === 'not' || (node.firstChild?.name === 'LogicOp');
  return node.name === 'BinaryExpression' && [...children(node)].some(({ name }) => ['CompareOp', 'in', 'is', 'instanceof'].includes(name));
}
