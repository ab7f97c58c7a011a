import type { SyntaxNode } from '@lezer/common';
import { parser } from '@lezer/python';
import type { DetectedAgent } from './detect.ts';

/** Modules whose `rollout` marks an agent. */
const agentModules = new Set(['agent_trainer', 'agentlightning']);

/** What the file's imports make of its names: `rollout` itself (or an alias), and modules that hold it. */
interface Names { wrappers: Set<string>; modules: Set<string> }

/** Functions of the module that are decorated with our `rollout`, however it was imported. */
export function detectInPython(text: string): DetectedAgent[] {
  const names: Names = { wrappers: new Set(), modules: new Set() };
  const agents: DetectedAgent[] = [];
  const textOf = (node: SyntaxNode): string => text.slice(node.from, node.to);
  for (const statement of statementsOf(parser.parse(text).topNode)) {
    if (statement.name === 'ImportStatement') readImport(statement, textOf, names);
    if (statement.name !== 'DecoratedStatement') continue;
    const name = statement.getChild('FunctionDefinition')?.getChild('VariableName');
    if (name === null || name === undefined) continue;
    if (statement.getChildren('Decorator').some((decorator) => isWrapper(decorator, textOf, names))) {
      agents.push({ name: textOf(name), language: 'python', from: name.from, to: name.to });
    }
  }
  return agents;
}

/** Statements at module level, also inside `if` and `try` (an import is often guarded). */
function* statementsOf(node: SyntaxNode): Generator<SyntaxNode> {
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (child.name === 'IfStatement' || child.name === 'TryStatement' || child.name === 'WithStatement' || child.name === 'Body') yield* statementsOf(child);
    else yield child;
  }
}

/** The dotted names of an import with their aliases: [['agent_trainer', 'rollout'], 'r'] … */
function readImport(statement: SyntaxNode, textOf: (node: SyntaxNode) => string, names: Names): void {
  let module: string | null = null;
  let dotted = '';
  let alias: string | null = null;
  let afterAs = false;
  let isFrom = false;
  const close = (): void => {
    if (dotted === '') return;
    const root = dotted.split('.')[0] ?? '';
    if (isFrom && module !== null && dotted === 'rollout') names.wrappers.add(alias ?? dotted);
    if (!isFrom && agentModules.has(root)) names.modules.add(alias ?? root);
    dotted = '';
    alias = null;
    afterAs = false;
  };
  for (let node = statement.firstChild; node !== null; node = node.nextSibling) {
    if (node.name === 'from') isFrom = true;
    else if (node.name === 'import') {
      if (isFrom) {
        if (!agentModules.has(dotted.split('.')[0] ?? '')) return;
        module = dotted;
        dotted = '';
      }
    } else if (node.name === 'as') afterAs = true;
    else if (node.name === ',') close();
    else if (node.name === '*') names.wrappers.add('rollout');
    else if (node.name === 'VariableName' || node.name === '.') {
      if (afterAs) alias = textOf(node);
      else dotted += textOf(node);
    }
  }
  close();
}

function isWrapper(decorator: SyntaxNode, textOf: (node: SyntaxNode) => string, names: Names): boolean {
  const path: string[] = [];
  for (let node = decorator.firstChild; node !== null; node = node.nextSibling) if (node.name === 'VariableName' || node.name === 'PropertyName') path.push(textOf(node));
  const [first, ...rest] = path;
  if (first === undefined) return false;
  return rest.length === 0 ? names.wrappers.has(first) : names.modules.has(first) && rest.at(-1) === 'rollout';
}
