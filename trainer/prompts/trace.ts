import { posix } from 'node:path';
import type { SyntaxNode } from '@lezer/common';
import { children, isText, itemsOf, textOf } from '../source/syntax.ts';
import { traceCall } from './calls.ts';
import { returnsOf } from './declarations.ts';
import { unfilled } from './engines.ts';
import type { Filling } from './engines.ts';
import { standingOf } from './labels.ts';
import type { Standing } from './labels.ts';
import { isSum } from './literal.ts';
import type { Module, Modules } from './modules.ts';
import type { Reach } from './reach.ts';
import { traceMember, traceName } from './trace-names.ts';
import type { Uses } from './uses.ts';

/** How a value gets to the model from where it is looked at. */
export interface Use {
  standing: Standing;
  filling: Filling;
  /** What is taken of it: keys of dicts, attributes of objects; `*` for any. */
  keys: readonly string[];
}

export const toldUse: Use = { standing: 'told', filling: unfilled, keys: [] };
export const filledUse: Use = { standing: 'filled', filling: unfilled, keys: [] };

/** What a trace ends at. */
export interface Sink {
  literal(module: Module, node: SyntaxNode, use: Use): void;
  file(path: string, use: Use, parsed: 'text' | 'yaml'): void;
}

const maxDepth = 60;
/** Values that are taken out of one another beyond this are a loop. */
const maxKeys = 6;
const roles = /^(system|user|human|ai|assistant|developer|placeholder|tool|function)$/;

/** Follows values from the calls that reach a model back to the literals they are made of. */
export class Tracer {
  readonly modules: Modules;
  readonly reach: Reach;
  readonly uses: Uses;
  readonly sink: Sink;
  private readonly seen = new Set<string>();
  private depth = 0;

  constructor(modules: Modules, uses: Uses, reach: Reach, sink: Sink) {
    this.modules = modules;
    this.uses = uses;
    this.reach = reach;
    this.sink = sink;
  }

  trace(module: Module, node: SyntaxNode | null | undefined, use: Use): void {
    if (node == null || this.depth > maxDepth || use.keys.length > maxKeys) return;
    const key = `${module.path}:${node.from}:${node.to}:${node.name}:${use.keys.join('.')}:${use.filling.engine}:${use.filling.replaced.join()}:${use.standing}`;
    if (this.seen.has(key)) return;
    this.seen.add(key);
    this.depth++;
    this.step(module, node, use);
    this.depth--;
  }

  private step(module: Module, node: SyntaxNode, use: Use): void {
    if (this.isLiteral(module, node)) {
      if (use.keys.length === 0) this.literal(module, node, use);
      else this.configured(module, node, use);
      return;
    }
    const follow = (nodes: Iterable<SyntaxNode | null | undefined>, other: Use = use): void => { for (const each of nodes) this.trace(module, each, other); };
    switch (node.name) {
      case 'VariableName': traceName(this, module, textOf(module.source, node), node.from, use); return;
      case 'MemberExpression': traceMember(this, module, node, use); return;
      case 'CallExpression': case 'NewExpression': traceCall(this, module, node, use); return;
      case 'TaggedTemplateExpression': follow([node.lastChild]); return;
      case 'ConditionalExpression': follow(module.source.language === 'python' ? [node.firstChild, node.lastChild] : [node.firstChild?.nextSibling?.nextSibling, node.lastChild]); return;
      case 'ParenthesizedExpression': case 'PostfixExpression': case 'SequenceExpression': follow(children(node)); return;
      case 'AwaitExpression': case 'NamedExpression': case 'UnaryExpression': case 'StarExpression': follow([node.lastChild]); return;
      case 'BinaryExpression': follow(module.source.language === 'python' && textOf(module.source, node).includes('%') && node.getChild('ArithOp') !== null && !isSum(module.source, node) ? [] : [node.firstChild, node.lastChild]); return;
      case 'ArrayComprehensionExpression': case 'ComprehensionExpression': case 'GeneratorExpression': case 'SetComprehensionExpression': follow([node.firstChild?.nextSibling], below(use)); return;
      case 'ArrayExpression': case 'TupleExpression': case 'SetExpression': this.elements(module, node, use); return;
      case 'DictionaryExpression': case 'ObjectExpression': this.entries(module, node, use); return;
      case 'ArrowFunction': case 'FunctionExpression': case 'LambdaExpression': follow(use.standing === 'told' ? returnsOf(node) : []); return;
    }
  }

  /** A text, or a sum that has one. */
  private isLiteral(module: Module, node: SyntaxNode): boolean {
    if (isText(node)) return true;
    if (!isSum(module.source, node)) return false;
    const sides = [node.firstChild, node.lastChild].map((side) => (side?.name === 'ParenthesizedExpression' ? side.firstChild?.nextSibling ?? side : side));
    return sides.some((side) => side !== null && this.isLiteral(module, side));
  }

  /** The name of a YAML file that a library reads, CrewAI for one. */
  private configured(module: Module, node: SyntaxNode, use: Use): void {
    const name = /^["']([\w./-]+\.ya?ml)["']$/.exec(textOf(module.source, node))?.[1];
    const path = name === undefined ? undefined : [posix.join(posix.dirname(module.path), name), name].find((each) => this.modules.readFile(each) !== null);
    if (path !== undefined) this.sink.file(path, use, 'yaml');
  }

  /** What is put into a literal may be a prompt of its own, if it is a constant. */
  private literal(module: Module, node: SyntaxNode, use: Use): void {
    this.sink.literal(module, node, use);
    const visit = (at: SyntaxNode): void => {
      for (const child of children(at)) {
        if (child.name === 'Interpolation' || child.name === 'FormatReplacement') this.trace(module, child.firstChild?.nextSibling, filledUse);
        else if (child.name === 'FormatString' || child.name === 'TemplateString' || child.name === 'ParenthesizedExpression' || isSum(module.source, child)) visit(child);
        else if (isSum(module.source, at) && !isText(child)) this.trace(module, child, filledUse);
      }
    };
    visit(node);
  }

  private elements(module: Module, node: SyntaxNode, use: Use): void {
    const items = itemsOf(module.source, node).flatMap(({ value, spread }) => (value === null ? [] : [{ value, spread }]));
    const role = items[0]?.value.name === 'String' && items.length === 2 ? textOf(module.source, items[0].value).slice(1, -1) : '';
    if (roles.test(role)) {
      if (!/^(placeholder|tool|function)$/.test(role)) this.trace(module, items[1]?.value, below(use));
      return;
    }
    // Functions in a list are tools; what they give back is the agent's data.
    for (const { value, spread } of items) if (!this.isFunction(module, value)) this.trace(module, value, spread ? use : below(use));
  }

  private isFunction(module: Module, node: SyntaxNode): boolean {
    if (/^(ArrowFunction|FunctionExpression|LambdaExpression)$/.test(node.name)) return true;
    return node.name === 'VariableName' && this.uses.calledBy(module, node).some(({ definition }) => definition.kind === 'function');
  }

  private entries(module: Module, node: SyntaxNode, use: Use): void {
    const items = itemsOf(module.source, node);
    const roleNode = items.find(({ name }) => name === 'role')?.value;
    const role = roleNode?.name === 'String' ? textOf(module.source, roleNode).slice(1, -1) : null;
    if (role === 'tool' || role === 'function') return;
    const isRequest = items.some(({ name }) => name === 'model');
    const [key, ...rest] = use.keys;
    for (const { name, value, spread, nodes } of items) {
      if (spread) this.trace(module, value, use);
      if (spread || name === null || (name === 'user' && isRequest)) continue;
      const shorthand = nodes[0]?.name === 'Property' && nodes[0].firstChild === nodes[0].lastChild;
      if (key !== undefined && key !== '*' && key !== name) continue;
      const standing = key === name || (key === '*' && standingOf(name, use.standing) !== null) ? use.standing : standingOf(name, use.standing);
      if (standing === null) continue;
      const inner: Use = { ...use, keys: rest, standing };
      if (shorthand || value === null || value.name === 'PropertyDefinition') traceName(this, module, name, node.from, inner);
      else this.trace(module, value, inner);
    }
  }
}

/** The use of what a list holds. */
export function below(use: Use): Use {
  return use.keys.length > 0 && (use.keys[0] === '*' || /^\d+$/.test(use.keys[0] ?? '')) ? { ...use, keys: use.keys.slice(1) } : use;
}
