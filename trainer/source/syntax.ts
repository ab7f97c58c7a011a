import type { SyntaxNode } from '@lezer/common';
import { parser as scriptParser } from '@lezer/javascript';
import { parser as pythonParser } from '@lezer/python';

/** A parsed file. The parsers accept any text: what does not parse is an error node, and the rest is still there. */
export interface Source {
  fileName: string;
  language: 'python' | 'node';
  typescript: boolean;
  text: string;
  root: SyntaxNode;
  newline: string;
}

/** null when the file is neither Python nor TypeScript or JavaScript. */
export function parseSource(fileName: string, text: string): Source | null {
  const newline = text.includes('\r\n') ? '\r\n' : '\n';
  const extension = fileName.slice(fileName.lastIndexOf('.') + 1);
  if (extension === 'py') return { fileName, language: 'python', typescript: false, text, root: pythonParser.parse(text).topNode, newline };
  if (!['ts', 'tsx', 'mts', 'cts', 'js', 'jsx', 'mjs', 'cjs'].includes(extension) || fileName.endsWith('.d.ts')) return null;
  const typescript = extension.includes('ts');
  const jsx = extension.endsWith('x') || !typescript;
  const root = scriptParser.configure({ dialect: [typescript ? 'ts' : '', jsx ? 'jsx' : ''].join(' ').trim() }).parse(text).topNode;
  return { fileName, language: 'node', typescript, text, root, newline };
}

export const textOf = (source: Source, node: SyntaxNode): string => source.text.slice(node.from, node.to);

export function* children(node: SyntaxNode | null): Generator<SyntaxNode> {
  for (let child = node?.firstChild ?? null; child !== null; child = child.nextSibling) yield child;
}

/** A node and all below it, in order of place; below nodes that `enter` refuses nothing is visited. */
export function* descendants(node: SyntaxNode, enter: (node: SyntaxNode) => boolean = () => true): Generator<SyntaxNode> {
  let depth = 0;
  for (let current = node; ;) {
    yield current;
    let next = enter(current) ? current.firstChild : null;
    if (next !== null) depth++;
    while (next === null) {
      if (depth === 0) return;
      next = current.nextSibling;
      if (next !== null) break;
      if (current.parent === null) return;
      current = current.parent;
      depth--;
    }
    current = next;
  }
}

/** All nodes of these kinds in a tree, in order; cheaper than visiting every node. */
export function nodesOf(root: SyntaxNode, kinds: readonly string[]): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  root.cursor().iterate((node) => { if (kinds.includes(node.name)) found.push(node.node); });
  return found;
}

const bound = new WeakMap<Source, Set<string>>();

/** Whether the file gives the name a meaning of its own somewhere. */
export function isTaken(source: Source, name: string): boolean {
  let names = bound.get(source);
  if (names === undefined) {
    names = new Set(nodesOf(source.root, source.language === 'python' ? ['VariableName'] : ['VariableDefinition', 'TypeDefinition']).filter((node) => source.language === 'node' || isBinding(node)).map((node) => textOf(source, node)));
    bound.set(source, names);
  }
  return names.has(name);
}

function isBinding(node: SyntaxNode): boolean {
  const { parent } = node;
  if (parent?.name === 'AssignStatement') return parent.firstChild?.from === node.from;
  return ['FunctionDefinition', 'ClassDefinition', 'ImportStatement', 'ParamList'].includes(parent?.name ?? '');
}

/** Statements of the module, those under `if`, `try` and `with` included. */
export function* moduleStatements(source: Source, node: SyntaxNode = source.root): Generator<SyntaxNode> {
  for (const child of children(node)) {
    if (['IfStatement', 'TryStatement', 'WithStatement', 'Body'].includes(child.name) && source.language === 'python') yield* moduleStatements(source, child);
    else yield child;
  }
}

/** Whether a name is read or bound in the node. Names of properties do not count. */
export function mentions(source: Source, node: SyntaxNode, name: string): boolean {
  for (const each of descendants(node)) if ((isName(each) || each.name === 'VariableDefinition') && textOf(source, each) === name) return true;
  return false;
}

/** A variable where it is read; in `{ name }` it is its property too. */
export function isName(node: SyntaxNode): boolean {
  return node.name === 'VariableName' || (node.name === 'PropertyDefinition' && node.parent?.name === 'Property' && node.prevSibling === null && node.nextSibling === null);
}

/** `a.b.c` as ['a', 'b', 'c']; null when its start is not a name. */
export function pathOf(source: Source, node: SyntaxNode | null): string[] | null {
  if (node?.name === 'VariableName' || node?.name === 'this') return [textOf(source, node)];
  if (node?.name !== 'MemberExpression') return null;
  const property = node.lastChild;
  const start = pathOf(source, node.firstChild);
  if (start === null || property === null || !property.name.endsWith('PropertyName')) return null;
  return [...start, textOf(source, property)];
}

export const isCall = (node: SyntaxNode): boolean => node.name === 'CallExpression' || node.name === 'NewExpression';

/** What is called, or constructed. */
export function calleeOf(call: SyntaxNode): SyntaxNode | null {
  return call.name === 'NewExpression' ? call.firstChild?.nextSibling ?? null : call.firstChild;
}

/** One item of an argument list, parameter list or object. `value` is null for an item without one. */
export interface Item { name: string | null; value: SyntaxNode | null; from: number; to: number; spread: boolean; nodes: SyntaxNode[] }

/** What is between the brackets of a node, split at its commas; comments are left out. */
export function itemsOf(source: Source, list: SyntaxNode | null): Item[] {
  const items: Item[] = [];
  let nodes: SyntaxNode[] = [];
  const close = (): void => {
    const [first, ...rest] = nodes;
    const last = nodes.at(-1);
    if (first !== undefined && last !== undefined) items.push({ ...readItem(source, first, rest), from: first.from, to: last.to, nodes });
    nodes = [];
  };
  for (const child of children(list)) {
    if (child.name === ',') close();
    else if (!['(', ')', '{', '}', '[', ']', 'Comment', 'LineComment', 'BlockComment'].includes(child.name)) nodes.push(child);
  }
  close();
  return items;
}

function readItem(source: Source, first: SyntaxNode, rest: SyntaxNode[]): { name: string | null; value: SyntaxNode | null; spread: boolean } {
  if (first.name === '*' || first.name === '**' || first.name === 'Spread') return { name: null, value: rest.at(-1) ?? null, spread: true };
  if (first.name === 'Property') {
    const key = first.firstChild;
    if (key === null || key.name === 'Spread') return { name: null, value: first.lastChild, spread: true };
    return { name: unquoted(source, key), value: first.lastChild, spread: false };
  }
  const [second, third] = rest;
  if (second?.name === 'AssignOp' && third !== undefined) return { name: textOf(source, first), value: third, spread: false };
  if (second?.name === ':' && third !== undefined) return { name: unquoted(source, first), value: third, spread: false };
  return { name: null, value: first, spread: false };
}

/** The arguments of a call. */
export const argumentsOf = (source: Source, call: SyntaxNode): Item[] => itemsOf(source, call.getChild('ArgList'));

/** The options of a call: Python's keyword arguments, or the properties of the first object given to it. */
export function optionsOf(source: Source, call: SyntaxNode): Item[] {
  const given = argumentsOf(source, call);
  if (source.language === 'python') return given.filter((item) => item.name !== null || item.spread);
  const object = given.find(({ value }) => value?.name === 'ObjectExpression')?.value;
  return object === null || object === undefined ? [] : itemsOf(source, object);
}

/** The value of a string without escapes; the node's text when it is no string. */
export function unquoted(source: Source, node: SyntaxNode): string {
  const text = textOf(source, node);
  if (node.name !== 'String' && node.name !== 'FormatString' && node.name !== 'TemplateString') return text;
  const quote = Math.min(...['"', "'", '`'].map((mark) => text.indexOf(mark)).filter((at) => at >= 0));
  const width = text.startsWith('"""', quote) || text.startsWith("'''", quote) ? 3 : 1;
  return text.slice(quote + width, -width);
}

/** A string literal of any kind. */
export interface TextNode extends SyntaxNode { readonly name: 'String' | 'FormatString' | 'ContinuedString' | 'TemplateString' }

export const isText = (node: SyntaxNode | null | undefined): node is TextNode => ['String', 'FormatString', 'ContinuedString', 'TemplateString'].includes(node?.name ?? '');

/** Variables and what they are set to, in a module or a function body; of several values the last. Functions inside are not looked into. */
export function assignmentsIn(source: Source, scope: SyntaxNode): Map<string, SyntaxNode> {
  const values = new Map<string, SyntaxNode>();
  const inside = (node: SyntaxNode): boolean => node === scope || !['FunctionDefinition', 'FunctionDeclaration', 'FunctionExpression', 'ArrowFunction', 'ClassDefinition', 'ClassDeclaration', 'LambdaExpression'].includes(node.name);
  for (const node of descendants(scope, inside)) {
    if (node.name === 'AssignStatement' && node.firstChild?.name === 'VariableName' && node.lastChild !== null) {
      if (node.getChildren('AssignOp').length === 1 && node.getChildren(',').length === 0) values.set(textOf(source, node.firstChild), withoutAwait(node.lastChild));
    } else if (node.name === 'VariableDeclaration') {
      for (const { nodes } of itemsOf(source, node)) {
        const name = nodes.find((each) => each.name === 'VariableDefinition');
        const equals = nodes.findIndex((each) => each.name === 'Equals');
        const value = nodes[equals + 1];
        if (name !== undefined && equals > 0 && value !== undefined) values.set(textOf(source, name), withoutAwait(value));
      }
    } else if (node.name === 'WithStatement') {
      for (const marker of node.getChildren('as')) {
        const name = marker.nextSibling;
        if (name?.name === 'VariableName' && marker.prevSibling !== null) values.set(textOf(source, name), marker.prevSibling);
      }
    }
  }
  return values;
}

export function withoutAwait(node: SyntaxNode): SyntaxNode {
  return node.name === 'AwaitExpression' && node.lastChild !== null ? node.lastChild : node;
}

/** Where the line of an offset starts. */
export const lineStart = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1;

/** Where the line of an offset ends, before its line break. */
export function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  if (end === -1) return text.length;
  return text[end - 1] === '\r' && end > at ? end - 1 : end;
}

/** The white space a line starts with, if `at` is the first thing on it; else null. */
export function indentBefore(text: string, at: number): string | null {
  const before = text.slice(lineStart(text, at), at);
  return before.trim() === '' ? before : null;
}
