import type { SyntaxNode } from '@lezer/common';
import type { DetectedAgent } from '../agents/detect.ts';
import { commonJsExportOf } from './commonjs.ts';
import { children, moduleStatements, nodesOf, textOf } from '../../trainer/source/syntax.ts';
import type { Source } from '../../trainer/source/syntax.ts';

/** A function that is an agent or could become one. */
export interface AgentFunction {
  /** What the function is called; 'default' without a name, `Class.method` for a method. */
  name: string;
  /** Where that name (without one, the function) stands. */
  at: { from: number; to: number };
  /** The definition itself, and the statement of the module (or the method of the class) it is part of. */
  node: SyntaxNode;
  statement: SyntaxNode;
  parameters: SyntaxNode;
  body: SyntaxNode;
  kind: 'function' | 'value' | 'method' | 'commonjs' | 'nested';
}

/** The functions of a file: those that can be agents and, as kind 'nested', those that cannot for where they are. */
export function functionsOf(source: Source): AgentFunction[] {
  const found = source.language === 'python' ? pythonFunctions(source) : scriptFunctions(source);
  return found.sort((a, b) => a.at.from - b.at.from);
}

/** The function a position is in: the innermost that can be an agent, else the innermost at all. */
export function functionAt(functions: AgentFunction[], offset: number): AgentFunction | undefined {
  const around = functions.filter(({ statement, node }) => (statement.from <= offset && offset <= node.to));
  return around.findLast(({ kind }) => kind !== 'nested') ?? around.at(-1);
}

const overload = /^@\s*(\w+\.)?overload\s*$/;

function pythonFunctions(source: Source): AgentFunction[] {
  const found: AgentFunction[] = [];
  const ofModule = new Set<number>();
  for (const statement of moduleStatements(source)) {
    const node = statement.name === 'DecoratedStatement' ? statement.getChild('FunctionDefinition') : statement;
    if (node?.name === 'FunctionDefinition') ofModule.add(node.from);
  }
  for (const node of nodesOf(source.root, ['FunctionDefinition'])) {
    const [name, parameters, body] = [node.getChild('VariableName'), node.getChild('ParamList'), node.getChild('Body')];
    if (name === null || parameters === null || body === null) continue;
    const statement = node.parent?.name === 'DecoratedStatement' ? node.parent : node;
    if (statement.getChildren('Decorator').some((decorator) => overload.test(textOf(source, decorator)))) continue; // its implementation is the function
    found.push({ name: textOf(source, name), at: name, node, statement, parameters, body, kind: ofModule.has(node.from) ? 'function' : 'nested' });
  }
  return found;
}

const functionNodes = ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunction', 'MethodDeclaration', 'Property'];

function scriptFunctions(source: Source): AgentFunction[] {
  const found: AgentFunction[] = [];
  for (const node of nodesOf(source.root, functionNodes)) {
    const parameters = node.getChild('ParamList');
    const body = node.lastChild;
    if (parameters === null || body === null || (node.name !== 'ArrowFunction' && body.name !== 'Block')) continue;
    found.push({ ...place(source, node), node, parameters, body });
  }
  return found;
}

/** What a function of a script is called and what it is part of. */
function place(source: Source, node: SyntaxNode): Pick<AgentFunction, 'name' | 'at' | 'statement' | 'kind'> {
  const parent = node.parent;
  const named = node.getChild('VariableDefinition');
  if (node.name === 'FunctionDeclaration') {
    const statement = parent?.name === 'ExportDeclaration' ? parent : node;
    const ofModule = statement.parent?.name === 'Script';
    return { name: named === null ? 'default' : textOf(source, named), at: named ?? node, statement, kind: ofModule ? 'function' : 'nested' };
  }
  if (node.name === 'MethodDeclaration') {
    const key = node.getChild('PropertyDefinition') ?? node.getChild('PrivatePropertyDefinition');
    const class_ = parent?.parent;
    const className = class_?.getChild('VariableDefinition');
    const ofModule = class_?.name === 'ClassDeclaration' && (class_.parent?.name === 'Script' || class_.parent?.name === 'ExportDeclaration');
    return { name: `${className ? textOf(source, className) : ''}.${key === null ? '' : textOf(source, key)}`, at: key ?? node, statement: node, kind: ofModule && key?.name === 'PropertyDefinition' ? 'method' : 'nested' };
  }
  if (parent?.name === 'VariableDeclaration') {
    let name: SyntaxNode | null = null;
    for (const child of children(parent)) {
      if (child.from >= node.from) break;
      if (child.name === 'VariableDefinition') name = child;
    }
    const statement = parent.parent?.name === 'ExportDeclaration' ? parent.parent : parent;
    return { name: name === null ? '' : textOf(source, name), at: name ?? node, statement, kind: statement.parent?.name === 'Script' && name !== null ? 'value' : 'nested' };
  }
  if (parent?.name === 'ExportDeclaration' && parent.getChild('default') !== null) return { name: 'default', at: node, statement: parent, kind: 'value' };
  const exported = commonJsExportOf(source, node);
  if (exported !== null) return { ...exported, kind: 'commonjs' };
  const own = named ?? node.getChild('PropertyDefinition');
  return { name: own === null ? '' : textOf(source, own), at: own ?? node, statement: node, kind: 'nested' };
}

/** The function behind a detected agent; undefined where it is made in another way (a class, a value from elsewhere). */
export function functionOfAgent(source: Source, functions: AgentFunction[], agent: DetectedAgent): AgentFunction | undefined {
  const exact = functions.find(({ at }) => at.from === agent.from);
  if (exact !== undefined) return exact;
  // A wrapper call: its first argument is the function or the name of one.
  const name = source.root.resolveInner(agent.from, 1);
  let holder: SyntaxNode | null = name.name === 'PropertyName' ? name.parent?.parent ?? null : name.parent;
  if (name.parent?.name === 'CallExpression') holder = name.parent.parent;
  for (const call of holder?.getChildren('CallExpression') ?? []) {
    if (call.from < agent.from && call.to < agent.from) continue;
    const argument = call.getChild('ArgList')?.firstChild?.nextSibling;
    if (argument === null || argument === undefined) continue;
    if (argument.name === 'VariableName') return functions.find((each) => each.name === textOf(source, argument) && each.kind !== 'nested');
    const inner = functions.find(({ node }) => node.from === argument.from);
    if (inner !== undefined) return { ...inner, name: agent.name };
  }
  return undefined;
}
