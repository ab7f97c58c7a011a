import type { SyntaxNode } from '@lezer/common';
import { parser } from '@lezer/javascript';
import type { DetectedAgent } from './detect.ts';

/** Packages whose `rollout` marks an agent. */
const agentPackages = new Set(['agent-trainer', 'agent-trainer/runtime']);

interface Names { wrappers: Set<string>; modules: Set<string> }
type TextOf = (node: SyntaxNode) => string;

/** Exported values made by our `rollout(…)`, and methods decorated with it, however it was imported. */
export function detectInScript(text: string, dialect: { typescript: boolean; jsx: boolean }): DetectedAgent[] {
  const configured = parser.configure({ dialect: [dialect.typescript ? 'ts' : '', dialect.jsx ? 'jsx' : ''].join(' ').trim() });
  const root = configured.parse(text).topNode;
  const textOf: TextOf = (node) => text.slice(node.from, node.to);
  const names: Names = { wrappers: new Set(), modules: new Set() };
  const agents: DetectedAgent[] = [];
  /** Wrapped values that are exported only if an `export { … }` or `export default` says so. */
  const locals = new Map<string, SyntaxNode>();
  const add = (name: string, at: SyntaxNode): void => { agents.push({ name, language: 'node', from: at.from, to: at.to }); };
  const statements = [...statementsOf(root)];
  for (const node of statements) readImport(node, textOf, names);
  for (const node of statements) {
    if (node.name === 'VariableDeclaration') for (const [name, at] of wrappedVariables(node, textOf, names)) locals.set(name, at);
    else if (node.name === 'ExportDeclaration') readExport(node, textOf, names, locals, add);
    else if (node.name === 'ExpressionStatement') readCommonJs(node, textOf, names, add);
  }
  return agents.sort((a, b) => a.from - b.from);
}

/** The statements of the module. An `export` below another statement is one too: a brace above it is missing just now. */
function* statementsOf(root: SyntaxNode): Generator<SyntaxNode> {
  for (let node = root.firstChild; node !== null; node = node.nextSibling) yield node;
  const cursor = root.cursor();
  while (cursor.next()) if (cursor.name === 'ExportDeclaration' && cursor.node.parent?.name === 'Block' && cursor.node.parent.parent?.name !== 'NamespaceDeclaration') yield cursor.node;
}

function readImport(node: SyntaxNode, textOf: TextOf, names: Names): void {
  if (node.name === 'ImportDeclaration') {
    const source = node.getChild('String');
    if (source === null || !agentPackages.has(unquote(textOf(source)))) return;
    const group = node.getChild('ImportGroup');
    for (let child = group?.firstChild ?? null; child !== null; child = child.nextSibling) {
      if (child.name === 'VariableDefinition' && textOf(child) === 'rollout') names.wrappers.add('rollout');
      if (child.name !== 'VariableName' || textOf(child) !== 'rollout') continue;
      const alias = child.nextSibling?.nextSibling; // rollout as alias
      if (alias?.name === 'VariableDefinition') names.wrappers.add(textOf(alias));
    }
    const namespace = node.getChild('VariableDefinition');
    if (namespace !== null) names.modules.add(textOf(namespace));
  } else if (node.name === 'VariableDeclaration') {
    const call = node.getChild('CallExpression');
    const source = call?.getChild('ArgList')?.getChild('String');
    if (call?.firstChild === null || call?.firstChild === undefined || source === null || source === undefined) return;
    if (textOf(call.firstChild) !== 'require' || !agentPackages.has(unquote(textOf(source)))) return;
    const whole = node.getChild('VariableDefinition');
    if (whole !== null) names.modules.add(textOf(whole));
    for (const property of node.getChild('ObjectPattern')?.getChildren('PatternProperty') ?? []) {
      if (textOf(property) === 'rollout') names.wrappers.add('rollout');
    }
  }
}

function readExport(node: SyntaxNode, textOf: TextOf, names: Names, locals: Map<string, SyntaxNode>, add: (name: string, at: SyntaxNode) => void): void {
  const declaration = node.getChild('VariableDeclaration');
  if (declaration !== null) for (const [name, at] of wrappedVariables(declaration, textOf, names)) add(name, at);
  const group = node.getChild('ExportGroup');
  if (group !== null) {
    for (const [local, exported] of exportedNames(group, textOf)) {
      const at = locals.get(local);
      if (at !== undefined) add(exported, at);
    }
  }
  const class_ = node.getChild('ClassDeclaration');
  if (class_ !== null) readClass(class_, textOf, names, add);
  if (node.getChild('default') !== null) {
    const call = node.getChild('CallExpression');
    const name = node.getChild('VariableName');
    if (call !== null && isWrapperCall(call, textOf, names)) add('default', call.firstChild ?? call);
    const at = name === null ? undefined : locals.get(textOf(name));
    if (at !== undefined) add('default', at);
  }
}

function readClass(class_: SyntaxNode, textOf: TextOf, names: Names, add: (name: string, at: SyntaxNode) => void): void {
  const className = class_.getChild('VariableDefinition');
  for (const method of class_.getChild('ClassBody')?.getChildren('MethodDeclaration') ?? []) {
    const methodName = method.getChild('PropertyDefinition');
    // A worker makes an instance for each attempt: static methods are no agents.
    const decorated = method.getChild('static') === null && method.getChildren('Decorator').some((decorator) => decorator.lastChild !== null && isWrapper(decorator.lastChild, textOf, names));
    if (decorated && className !== null && methodName !== null) add(`${textOf(className)}.${textOf(methodName)}`, methodName);
  }
}

/** `exports.name = rollout(…)` and `module.exports.name = rollout(…)`. */
function readCommonJs(node: SyntaxNode, textOf: TextOf, names: Names, add: (name: string, at: SyntaxNode) => void): void {
  const assignment = node.getChild('AssignmentExpression');
  const target = assignment?.firstChild;
  const value = assignment?.lastChild;
  if (target?.name !== 'MemberExpression' || value?.name !== 'CallExpression' || !isWrapperCall(value, textOf, names)) return;
  const match = /^(?:module\.)?exports\.([\w$]+)$/.exec(textOf(target));
  if (match?.[1] !== undefined && target.lastChild !== null) add(match[1], target.lastChild);
}

/** The variables of a declaration whose initial value is a wrapper call. */
function* wrappedVariables(declaration: SyntaxNode, textOf: TextOf, names: Names): Generator<[string, SyntaxNode]> {
  let name: SyntaxNode | null = null;
  for (let child = declaration.firstChild; child !== null; child = child.nextSibling) {
    if (child.name === 'VariableDefinition') name = child;
    if (child.name === 'CallExpression' && name !== null && isWrapperCall(child, textOf, names)) yield [textOf(name), name];
    if (child.name === ',') name = null;
  }
}

function* exportedNames(group: SyntaxNode, textOf: TextOf): Generator<[string, string]> {
  for (const item of textOf(group).replace(/^\{|\}$/g, '').split(',')) {
    const [local, exported] = item.trim().split(/\s+as\s+/);
    if (local !== undefined && local !== '') yield [local, exported ?? local];
  }
}

function isWrapperCall(call: SyntaxNode, textOf: TextOf, names: Names): boolean {
  return call.firstChild !== null && isWrapper(call.firstChild, textOf, names);
}

function isWrapper(callee: SyntaxNode, textOf: TextOf, names: Names): boolean {
  const path = textOf(callee).replace(/<[^]*$/, '').replace(/\([^]*$/, '').split('.');
  const [first, ...rest] = path;
  if (first === undefined) return false;
  return rest.length === 0 ? names.wrappers.has(first) : names.modules.has(first) && rest.at(-1) === 'rollout';
}

function unquote(text: string): string {
  return text.slice(1, -1);
}
