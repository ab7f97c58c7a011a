import type { SyntaxNode } from '@lezer/common';
import type { Edit } from './edits.ts';
import { insertion } from './edits.ts';
import type { AgentFunction } from './functions.ts';
import { pythonImport } from './import-python.ts';
import { appendItems } from './layout.ts';
import { llmName, pointAll } from './llm-name.ts';
import type { Translator } from './messages.ts';
import type { Plan, Refusal } from './plan.ts';
import { planned, refuse } from './plan.ts';
import type { Site } from './sites.ts';
import { assignmentsIn, children, descendants, indentBefore, lineEnd, lineStart, textOf } from '../../trainer/source/syntax.ts';
import type { Source } from '../../trainer/source/syntax.ts';

/** `@rollout` above the function, `llm` among its parameters, its model calls pointed at `llm`. */
export function wrapPython(l10n: Translator, source: Source, target: AgentFunction, sites: Site[]): Plan | Refusal {
  if (target.kind === 'nested') return refuse(l10n.t('An agent is a function of the module: move {0} out of its class or function.', target.name));
  if (isGenerator(target.body)) return refuse(l10n.t('{0} is a generator; an agent returns once, with its reward.', target.name));
  const parameters = parametersOf(source, target.parameters);
  if (parameters.some(({ name }) => name === 'llm')) return refuse(l10n.t('{0} has a parameter llm of its own, which is the name of the model in a run: rename it first.', target.name));

  const { llm, edits: pointing } = pointPython(source, target, sites);
  if (llm === null) return refuse(l10n.t('{0} uses a name llm of the module, which a parameter llm would hide: rename it first.', target.name));

  const typed = parameters.length > 0 ? parameters.some(({ typed: has }) => has) : target.node.getChild('TypeDef') !== null;
  const imported = pythonImport(source, ['rollout', ...(typed ? ['LLM'] : [])]);
  const [decorator = '', type = ''] = imported.names;
  const { from } = target.statement;
  const indent = indentBefore(source.text, from) ?? '';
  return {
    kind: 'plan',
    agent: target.name,
    edits: [
      ...planned('import', imported.edits),
      ...planned('wrapper', [insertion(from, `@${decorator}${source.newline}${indent}`)]),
      ...planned('parameter', parameterEdits(source, target.parameters, typed ? `llm: ${type}` : 'llm')),
      ...planned('pointing', pointing),
    ],
    notes: notes(l10n, parameters),
  };
}

/** The edits that point the function's model calls at its parameter `llm`; `llm` is null when that name is taken by the module. */
export function pointPython(source: Source, target: AgentFunction, sites: Site[]): { llm: string | null; edits: Edit[] } {
  const isFree = llmName(source, target) === 'llm';
  const direct = pointAll(sites, 'llm');
  // `llm = ChatOpenAI(base_url=llm.endpoint …)`: the parameter is read before its name is set anew.
  const isReplaced = direct.edits.length === 0 && direct.openings.length === 1 && direct.openings[0]?.startsWith('llm = ') === true;
  if (isFree || isReplaced) return { llm: 'llm', edits: [...direct.edits, ...openingEdits(source, target, direct.openings)] };
  const llm = llmName(source, target);
  const { edits, openings } = pointAll(sites, llm);
  const isOwn = assignmentsIn(source, target.body).has('llm') || openings.some((text) => text.startsWith('llm = '));
  if (!isOwn) return { llm: null, edits: [] };
  return { llm, edits: [...edits, ...openingEdits(source, target, edits.length + openings.length === 0 ? [] : [`${llm} = llm`, ...openings])] };
}

export interface Parameter { name: string; kind: 'plain' | 'args' | 'kwargs' | 'keywordOnly'; hasDefault: boolean; typed: boolean }

export function parametersOf(source: Source, list: SyntaxNode): Parameter[] {
  const parameters: Parameter[] = [];
  let kind = 'plain' as Parameter['kind'];
  let next = kind;
  for (const child of children(list)) {
    if (child.name === '*') next = 'args';
    else if (child.name === '**') next = 'kwargs';
    else if (child.name === ',') {
      if (next === 'args') kind = 'keywordOnly';
      next = kind;
    } else if (child.name === 'VariableName' && (child.prevSibling?.name !== 'AssignOp')) {
      parameters.push({ name: textOf(source, child), kind: next, hasDefault: false, typed: false });
    } else if (child.name === 'TypeDef' || child.name === 'AssignOp') {
      const last = parameters.at(-1);
      if (last !== undefined) {
        if (child.name === 'TypeDef') last.typed = true;
        else last.hasDefault = true;
      }
    }
  }
  return parameters;
}

export function parameterEdits(source: Source, list: SyntaxNode, parameter: string): Edit[] {
  const parameters = parametersOf(source, list);
  if (parameters.length === 0) return [insertion(list.from + 1, `task, ${parameter}`)];
  const star = [...children(list)].some(({ name }) => name === '*');
  const text = star || !parameters.some(({ hasDefault }) => hasDefault) ? parameter : `*, ${parameter}`;
  const rest = [...children(list)].find(({ name }) => name === '**');
  if (rest !== undefined) {
    const indent = indentBefore(source.text, rest.from);
    return [insertion(rest.from, `${text},${indent === null ? ' ' : source.newline + indent}`)];
  }
  const slash = positionalOnlyEnd(source, list);
  if (slash !== null) return [insertion(slash, `, ${text}`)];
  return appendItems(source, list, [text]);
}

/** Where a `/` that ends the list stands (after it); the grammar shows no node for it. */
function positionalOnlyEnd(source: Source, list: SyntaxNode): number | null {
  const lastComma = list.getChildren(',').at(-1);
  if (lastComma === undefined) return null;
  const rest = source.text.slice(lastComma.to, list.to - 1);
  return rest.trim() === '/' ? lastComma.to + rest.indexOf('/') + 1 : null;
}

/** Statements at the beginning of the body, below its docstring. */
function openingEdits(source: Source, target: AgentFunction, statements: string[]): Edit[] {
  if (statements.length === 0) return [];
  const all = [...children(target.body)].filter(({ name }) => name !== ':' && name !== 'Comment');
  const [first, second] = all;
  if (first === undefined) return [];
  const { text, newline } = source;
  const docstring = first.name === 'ExpressionStatement' && first.firstChild?.name === 'String' && second !== undefined ? first : null;
  const indent = indentBefore(text, first.from);
  if (indent === null) return [insertion(first.from, statements.map((statement) => `${statement}; `).join(''))];
  const after = docstring === null ? lineEnd(text, lineStart(text, target.body.from) === lineStart(text, first.from) ? first.from : target.body.from) : lineEnd(text, docstring.to);
  return [insertion(after, statements.map((statement) => newline + indent + statement).join(''))];
}

function isGenerator(body: SyntaxNode): boolean {
  for (const node of descendants(body, (each) => each.name !== 'FunctionDefinition' && each.name !== 'LambdaExpression')) if (node.name === 'YieldExpression' || node.name === 'YieldStatement' || node.name === 'yield') return true;
  return false;
}

function notes(l10n: Translator, parameters: Parameter[]): string[] {
  const unfilled = parameters.slice(1).filter(({ kind, hasDefault }) => !hasDefault && (kind === 'plain' || kind === 'keywordOnly')).map(({ name }) => name);
  return unfilled.length === 0 ? [] : [l10n.t('A run hands in the task as {0} and nothing for {1}: read it from the task, or give it a default.', parameters[0]?.name ?? 'task', unfilled.join(', '))];
}

