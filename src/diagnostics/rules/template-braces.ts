import type { SyntaxNode } from '@lezer/common';
import { argumentsOf, assignmentsIn, calleeOf, children, isText, nodesOf, textOf, unquoted } from '../../../trainer/source/syntax.ts';
import type { Source } from '../../../trainer/source/syntax.ts';
import type { Brace } from '../braces.ts';
import { isName, readBraces } from '../braces.ts';
import type { AgentView, Finding, Rule } from '../finding.ts';
import { finding } from '../finding.ts';

/** A template and the names it will be given; null: any. */
interface Template { literal: SyntaxNode; given: Set<string> | null }

/** A prompt template that fails when it is filled in: JSON in it whose braces are read as placeholders, a brace too many, a placeholder nobody fills. */
export const templateBraces: Rule = (view) => {
  const found = new Map<number, Finding>();
  for (const template of templatesOf(view)) {
    const problem = problemOf(view, template);
    if (problem !== null) found.set(problem.from, problem);
  }
  return [...found.values()];
};

function problemOf({ l10n, source }: AgentView, { literal, given }: Template): Finding | null {
  const pieces = stringsOf(literal).map((node) => ({ node, ...contentOf(source, node) }));
  const braces = pieces.flatMap(({ from, text }) => readBraces(text).map((brace) => ({ ...brace, from: brace.from + from, to: brace.to + from })));
  const broken = braces.filter((brace) => brace.kind !== 'field' || !isName(brace.name));
  const [first] = broken;
  if (first !== undefined) {
    const edits = broken.flatMap((brace) => escaped(source, brace));
    return finding('template-braces', 'warning', first, l10n.t('This brace is read as the start or end of a placeholder, so the template cannot be filled in. Write {0} and {1} for braces that are meant.', '{{', '}}'), [{ title: l10n.t('Double the braces that are no placeholders'), edits }]);
  }
  const unfilled = braces.find(({ name }) => given !== null && name !== '' && !given.has(name));
  if (unfilled === undefined) return null;
  return finding('template-braces', 'warning', unfilled, l10n.t('Nothing is given for the placeholder {0}, so filling in the template fails.', `{${unfilled.name}}`),
    [{ title: l10n.t('Double its braces: it is meant as text'), edits: escaped(source, unfilled) }]);
}

/** Doubles the outer braces of what is no placeholder, and every single brace inside it. */
function escaped({ text }: Source, brace: Brace): { from: number; to: number; insert: string }[] {
  const edits: { from: number; to: number; insert: string }[] = [];
  for (let at = brace.from; at < brace.to; at++) if (text[at] === '{' || text[at] === '}') edits.push({ from: at, to: at, insert: text[at] ?? '' });
  return edits;
}

const known = new WeakMap<Source, SyntaxNode[]>();

/** The calls of the file by names that make or fill in templates. */
function fillingCalls(source: Source): SyntaxNode[] {
  let calls = known.get(source);
  if (calls === undefined) {
    calls = nodesOf(source.root, ['CallExpression', 'NewExpression']).filter((node) => ['format', 'PromptTemplate', 'from_template', 'fromTemplate'].includes(calledName(source, node)));
    known.set(source, calls);
  }
  return calls;
}

function calledName(source: Source, call: SyntaxNode): string {
  const callee = calleeOf(call);
  const name = callee?.name === 'MemberExpression' ? callee.lastChild : callee;
  return name === null || name === undefined ? '' : textOf(source, name);
}

/** Templates that the agent fills in, or that are made in its file by a library whose templates have such placeholders. */
function templatesOf({ source, target }: AgentView): Template[] {
  const templates: Template[] = [];
  if (fillingCalls(source).length === 0) return templates;
  const module = assignmentsIn(source, source.root);
  const local = assignmentsIn(source, target.body);
  const literalOf = (node: SyntaxNode | null | undefined): SyntaxNode | null => {
    if (isText(node)) return node;
    const value = node?.name === 'VariableName' ? local.get(textOf(source, node)) ?? module.get(textOf(source, node)) : undefined;
    return isText(value) ? value : null;
  };
  for (const node of fillingCalls(source)) {
    const callee = calleeOf(node);
    const called = calledName(source, node);
    const given = argumentsOf(source, node);
    if (called === 'format' && source.language === 'python' && callee?.name === 'MemberExpression') {
      const literal = literalOf(callee.firstChild);
      const names = given.some(({ spread }) => spread) ? null : new Set([...given.flatMap(({ name }) => name ?? []), ...given.filter(({ name }) => name === null).map((_, index) => String(index))]);
      if (literal !== null && (inside(node, target.node) || inside(literal, target.node))) templates.push({ literal, given: names });
    } else if (called === 'PromptTemplate' || called === 'from_template' || called === 'fromTemplate') {
      const value = (given.find(({ name }) => name === 'template') ?? given.find(({ name }) => name === null))?.value;
      const isJinja = given.some(({ name, value: engine }) => name !== 'template' && isText(engine) && unquoted(source, engine).includes('jinja'));
      const literal = literalOf(value);
      if (literal !== null && !isJinja) templates.push({ literal, given: null });
    }
  }
  return templates;
}

const inside = (node: SyntaxNode, around: SyntaxNode): boolean => node.from >= around.from && node.to <= around.to;

const stringsOf = (literal: SyntaxNode): SyntaxNode[] => [literal, ...literal.name === 'ContinuedString' ? children(literal) : []].filter(({ name }) => name === 'String' || name === 'TemplateString');

function contentOf(source: Source, node: SyntaxNode): { from: number; text: string } {
  const text = unquoted(source, node);
  return { from: node.from + textOf(source, node).indexOf(text), text };
}
