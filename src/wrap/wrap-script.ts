import type { SyntaxNode } from '@lezer/common';
import { commonJsExportEdits, commonJsNameOf } from './commonjs.ts';
import type { Edit } from './edits.ts';
import { insertion } from './edits.ts';
import type { AgentFunction } from './functions.ts';
import { scriptImport } from './import-script.ts';
import { appendItems } from './layout.ts';
import { llmName, pointAll } from './llm-name.ts';
import type { Translator } from './messages.ts';
import type { Plan, Refusal } from './plan.ts';
import { planned, refuse } from './plan.ts';
import type { ScriptStyle } from './script-style.ts';
import { styleOf } from './script-style.ts';
import type { Site } from './sites.ts';
import { children, descendants, indentBefore, isName, itemsOf, lineEnd, lineStart, mentions, textOf } from '../../trainer/source/syntax.ts';
import type { Source } from '../../trainer/source/syntax.ts';

/** `export const f = rollout(…)` around the function (`@rollout` before a method), `{ llm }` as its second parameter, its model calls pointed at `llm`. */
export function wrapScript(l10n: Translator, source: Source, target: AgentFunction, sites: Site[]): Plan | Refusal {
  const style = styleOf(source);
  const obstacle = obstacleTo(l10n, source, target, style);
  if (obstacle !== null) return refuse(obstacle);

  const llm = llmName(source, target);
  const pointing = pointAll(sites, llm);
  if (pointing.openings.length > 0 && target.body.name !== 'Block') return refuse(l10n.t('{0} uses a model of the module: give the function a body in braces first, where it can make its own.', target.name));
  const imported = scriptImport(source, style, [{ name: 'rollout', isType: false }, ...(source.typescript ? [{ name: 'LLM', isType: true }] : [])], pointing.imports);
  const [rollout = '', type = ''] = imported.names;
  const wrapping = wrappingOf(source, target, style, rollout);
  return {
    kind: 'plan',
    agent: wrapping.agent,
    edits: [
      ...planned('import', imported.edits),
      ...planned('wrapper', wrapping.edits),
      ...planned('parameter', parameterEdits(source, target.parameters, contextParameter(source, llm, type))),
      ...planned('pointing', [...pointing.edits, ...openingEdits(source, target, pointing.openings.map((text) => text + style.semicolon))]),
    ],
    notes: [],
  };
}

function obstacleTo(l10n: Translator, source: Source, target: AgentFunction, style: ScriptStyle): string | null {
  const { name, node } = target;
  if (target.kind === 'nested') return l10n.t('An agent is a function or a method of an exported class: move {0} to the top of the module.', name === '' ? l10n.t('the function') : name);
  if (node.getChild('Star') !== null) return l10n.t('{0} is a generator; an agent returns once, with its reward.', name);
  if (target.kind === 'method') {
    const key = node.getChild('PropertyDefinition');
    if (node.getChild('static') !== null || node.getChild('get') !== null || node.getChild('set') !== null || (key !== null && textOf(source, key) === 'constructor')) return l10n.t('Only ordinary methods can be agents; {0} is none.', name);
    if (!source.typescript) return l10n.t('A method is marked by a decorator, which JavaScript does not know yet: wrap a function that calls {0}.', name);
    if (node.parent?.parent?.parent?.name !== 'ExportDeclaration') return l10n.t('The class of {0} is not exported, so a run could not reach it.', name);
  }
  if (target.kind === 'function' && overloads(source, target) > 1) return l10n.t('{0} has overloads, which a wrapped function cannot have.', name);
  if (target.kind === 'function' && isUsedBefore(source, target)) return l10n.t('{0} is used above its definition while the module loads; move the definition up first.', name);
  if (style.isCommonJs && target.kind !== 'commonjs' && exportedAs(source, name) === null && commonJsExportEdits(source, name, target.statement.to, style.semicolon) === null) return l10n.t('The module exports something else as a whole, so a run could not reach {0}: export it as well first.', name);
  const parameters = itemsOf(source, target.parameters);
  if (parameters.length > 1) return l10n.t('The second parameter of an agent is what a run hands in; {0} has parameters of its own there. Make them part of the task first.', name);
  if (parameters[0]?.spread === true) return l10n.t('{0} takes any number of arguments; the first parameter of an agent is its task.', name);
  return null;
}

/** Edits that mark the function, and what it is called as an agent. */
function wrappingOf(source: Source, target: AgentFunction, style: ScriptStyle, rollout: string): { agent: string; edits: Edit[] } {
  const { node, statement, name } = target;
  const { newline, text } = source;
  const around = [insertion(node.from, `${rollout}(`), insertion(node.to, ')')];
  if (target.kind === 'method') {
    const indent = indentBefore(text, node.from);
    return { agent: name, edits: [insertion(node.from, `@${rollout}${indent === null ? ' ' : newline + indent}`)] };
  }
  if (target.kind === 'commonjs') return { agent: name, edits: around };
  const isDefault = statement.name === 'ExportDeclaration' && statement.getChild('default') !== null;
  const exported = exportedAs(source, name);
  const needsExport = !isDefault && statement.name !== 'ExportDeclaration' && exported === null;
  const exporting = needsExport && style.isCommonJs ? commonJsExportEdits(source, name, statement.to, style.semicolon) ?? [] : [];
  const keyword = needsExport && !style.isCommonJs ? 'export ' : '';
  if (target.kind === 'value') return { agent: isDefault ? 'default' : exported ?? name, edits: [...(keyword === '' ? [] : [insertion(statement.from, keyword)]), ...around, ...exporting] };
  // A statement that begins with a bracket would continue ours if no semicolon stood between them.
  const semicolon = style.semicolon === '' && '([`+-/'.includes(text.slice(node.to).trimStart()[0] ?? ' ') ? ';' : style.semicolon;
  if (isDefault) {
    if (name === 'default' || !isUsedElsewhere(source, target)) return { agent: 'default', edits: [insertion(node.from, `${rollout}(`), insertion(node.to, `)${semicolon}`)] };
    return { agent: 'default', edits: [
      { from: statement.from, to: node.from, insert: `const ${name} = ${rollout}(` }, insertion(node.to, `)${semicolon}${newline}export default ${name}${semicolon}`),
    ] };
  }
  return { agent: exported ?? name, edits: [insertion(node.from, `${keyword}const ${name} = ${rollout}(`), insertion(node.to, `)${semicolon}`), ...exporting] };
}

export const contextParameter = (source: Source, llm: string, type: string): string => {
  const pattern = llm === 'llm' ? '{ llm }' : `{ llm: ${llm} }`;
  return source.typescript ? `${pattern}: { llm: ${type} }` : pattern;
};

export function parameterEdits(source: Source, list: SyntaxNode, context: string): Edit[] {
  if (list.firstChild?.name !== '(') return [insertion(list.from, '('), insertion(list.to, `, ${context})`)]; // x => …
  if (itemsOf(source, list).length === 0) return [insertion(list.from + 1, `${source.typescript ? 'task: unknown' : 'task'}, ${context}`)];
  return appendItems(source, list, [context]);
}

/** Statements at the beginning of the body. */
export function openingEdits(source: Source, target: AgentFunction, statements: string[]): Edit[] {
  const first = [...children(target.body)].find(({ name }) => name !== '{' && !name.endsWith('Comment'));
  if (statements.length === 0 || first === undefined) return [];
  const { text, newline } = source;
  const indent = lineStart(text, first.from) > target.body.from ? indentBefore(text, first.from) : null;
  if (indent === null) return [insertion(target.body.from + 1, statements.map((statement) => ` ${statement.endsWith(';') ? statement : `${statement};`}`).join(''))];
  return [insertion(lineEnd(text, target.body.from), statements.map((statement) => newline + indent + statement).join(''))];
}

/** The name under which an `export { … }`, `export default` or an assignment to `exports` exports a local one. */
function exportedAs(source: Source, name: string): string | null {
  const assigned = commonJsNameOf(source, name);
  if (assigned !== null) return assigned;
  for (const statement of source.root.getChildren('ExportDeclaration')) {
    const group = statement.getChild('ExportGroup');
    const names = group === null ? [] : [...children(group)].filter((node) => node.name === 'VariableName');
    for (const node of names) {
      if (textOf(source, node) !== name || node.prevSibling?.name === 'as') continue;
      const renamed = node.nextSibling?.name === 'as' ? node.nextSibling.nextSibling : null;
      return textOf(source, renamed ?? node);
    }
    const value = statement.getChild('default') === null ? null : statement.getChild('VariableName');
    if (value !== null && textOf(source, value) === name) return 'default';
  }
  return null;
}

function overloads(source: Source, target: AgentFunction): number {
  let count = 0;
  for (const node of descendants(source.root, (each) => each.name === 'Script' || each.name === 'ExportDeclaration')) {
    const name = node.name === 'FunctionDeclaration' ? node.getChild('VariableDefinition') : null;
    if (name !== null && textOf(source, name) === target.name) count++;
  }
  return count;
}

/** Whether code that runs while the module loads uses the function above it: a constant is not there yet, a declaration is. */
function isUsedBefore(source: Source, target: AgentFunction): boolean {
  const runsNow = (node: SyntaxNode): boolean => !['FunctionDeclaration', 'FunctionExpression', 'ArrowFunction', 'MethodDeclaration', 'ExportGroup'].includes(node.name);
  for (const statement of children(source.root)) {
    if (statement.from >= target.statement.from) break;
    for (const node of descendants(statement, runsNow)) if (isName(node) && textOf(source, node) === target.name) return true;
  }
  return false;
}

function isUsedElsewhere(source: Source, target: AgentFunction): boolean {
  return [...children(source.root)].some((statement) => statement.from !== target.statement.from && mentions(source, statement, target.name));
}
