import type { SyntaxNode } from '@lezer/common';
import { parser as scriptParser } from '@lezer/javascript';
import { parser as pythonParser } from '@lezer/python';
import { detectAgents } from '../agents/detect.ts';

/** Lines of a source that yield rewards. Lines count from 0. */
export interface RewardPlaces {
  /** Calls of emit_reward or emitReward. */
  emits: Set<number>;
  /** By agent: functions of this file that its return statements call, which compute its reward. */
  functions: Map<string, number[]>;
}

const functionNodes = new Set(['FunctionDefinition', 'LambdaExpression', 'FunctionDeclaration', 'FunctionExpression', 'ArrowFunction', 'MethodDeclaration']);
const emitters = /(?:^|\.)(?:emit_reward|emitReward)$/;

/** Where a file yields rewards, by reading it. Tolerates syntax errors. */
export function rewardPlaces(fileName: string, text: string): RewardPlaces {
  const places: RewardPlaces = { emits: new Set(), functions: new Map() };
  const agents = detectAgents(fileName, text);
  if (agents.length === 0 && !text.includes('emit')) return places;
  const root = parse(fileName, text);
  const definitions = new Map<string, number>();
  const cursor = root.cursor();
  do {
    const { node } = cursor;
    if (node.name === 'CallExpression' && node.firstChild !== null && emitters.test(text.slice(node.firstChild.from, node.firstChild.to))) places.emits.add(lineOf(text, node.from));
    const defined = definedName(node);
    if (defined !== null) definitions.set(text.slice(defined.from, defined.to), lineOf(text, defined.from));
  } while (cursor.next());
  for (const agent of agents) {
    const body = functionAt(root, agent.from);
    if (body === null) continue;
    const lines = [...calledInReturns(body, text, definitions)];
    if (lines.length > 0) places.functions.set(agent.name, [...new Set(lines)]);
  }
  return places;
}

function parse(fileName: string, text: string): SyntaxNode {
  if (fileName.endsWith('.py')) return pythonParser.parse(text).topNode;
  const dialect = [/\.[cm]?tsx?$/.test(fileName) ? 'ts' : '', /(?:x|js)$/.test(fileName) ? 'jsx' : ''].join(' ').trim();
  return scriptParser.configure({ dialect }).parse(text).topNode;
}

/** The name that a function, or a variable that holds one, is defined under. */
function definedName(node: SyntaxNode): SyntaxNode | null {
  if (node.name === 'FunctionDefinition') return node.getChild('VariableName');
  if (node.name === 'FunctionDeclaration') return node.getChild('VariableDefinition');
  if (node.name === 'VariableDeclaration' && (node.getChild('ArrowFunction') ?? node.getChild('FunctionExpression')) !== null) return node.getChild('VariableDefinition');
  return null;
}

/** The function whose agent name, or wrapper, stands at an offset. */
function functionAt(root: SyntaxNode, from: number): SyntaxNode | null {
  for (let node: SyntaxNode | null = root.resolveInner(from, 1); node !== null; node = node.parent) {
    if (functionNodes.has(node.name)) return node;
    if (node.name === 'VariableDeclaration' || node.name === 'ExportDeclaration' || node.name === 'AssignmentExpression') return firstFunction(node);
  }
  return null;
}

function firstFunction(node: SyntaxNode): SyntaxNode | null {
  for (const child of childrenOf(node)) {
    const found = functionNodes.has(child.name) ? child : firstFunction(child);
    if (found !== null) return found;
  }
  return null;
}

/** Lines of the known functions that the function's own return statements call, the outermost of each. */
function* calledInReturns(node: SyntaxNode, text: string, definitions: ReadonlyMap<string, number>, returning = false): Generator<number> {
  for (const child of childrenOf(node)) {
    if (functionNodes.has(child.name)) continue;
    // An arrow function without braces returns its last part.
    const inside = returning || child.name === 'ReturnStatement' || (node.name === 'ArrowFunction' && child.nextSibling === null && child.name !== 'Block');
    const callee = inside && child.name === 'CallExpression' && child.firstChild?.name === 'VariableName' ? definitions.get(text.slice(child.firstChild.from, child.firstChild.to)) : undefined;
    if (callee !== undefined) yield callee;
    else yield* calledInReturns(child, text, definitions, inside);
  }
}

function* childrenOf(node: SyntaxNode): Generator<SyntaxNode> {
  for (let child = node.firstChild; child !== null; child = child.nextSibling) yield child;
}

function lineOf(text: string, offset: number): number {
  let line = 0;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}
