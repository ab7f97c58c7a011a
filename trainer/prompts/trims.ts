import type { SyntaxNode } from '@lezer/common';
import { calleeOf, children, textOf } from '../source/syntax.ts';
import type { Source } from '../source/syntax.ts';
import { mapText } from './pieces.ts';
import type { Piece } from './pieces.ts';

/** Something written around a literal that takes white space away: `textwrap.dedent(…)`, `.strip()`, dedent`…`. */
export interface Trim {
  /** The call or tagged template; what it is around is inside. */
  node: SyntaxNode;
  kind: 'dedent' | 'cleandoc' | 'script-dedent' | 'start' | 'end' | 'both';
  /** White space, as the language's own methods see it. */
  space: string;
  /** A template's tag, which gets the raw strings. */
  isTag: boolean;
}

const methods: Record<string, Trim['kind']> = { strip: 'both', trim: 'both', lstrip: 'start', trimStart: 'start', trimLeft: 'start', rstrip: 'end', trimEnd: 'end', trimRight: 'end' };
const functions: Record<string, Trim['kind']> = { dedent: 'dedent', cleandoc: 'cleandoc' };

/** What is written around a literal, from the inside out. */
export function trimsAround(source: Source, literal: SyntaxNode): Trim[] {
  const trims: Trim[] = [];
  for (let node = literal; ;) {
    const { parent } = node;
    if (parent?.name === 'ParenthesizedExpression') {
      node = parent;
      continue;
    }
    const trim = trimOf(source, node);
    if (trim === null) return trims;
    trims.push(trim);
    node = trim.node;
  }
}

function trimOf(source: Source, node: SyntaxNode): Trim | null {
  const { parent } = node;
  const made = (at: SyntaxNode, kind: Trim['kind'], isTag = false): Trim => ({ node: at, kind, isTag, space: source.language === 'python' ? pythonSpace : '\\s' });
  if (parent?.name === 'TaggedTemplateExpression') return parent.firstChild !== null && isScriptDedent(source, parent.firstChild) ? made(parent, 'script-dedent', true) : null;
  if (parent?.name === 'MemberExpression' && parent.firstChild?.from === node.from && parent.parent?.name === 'CallExpression' && parent.parent.firstChild?.to === parent.to) {
    const kind = methods[textOf(source, parent.lastChild ?? node)];
    return kind !== undefined && isEmpty(parent.parent) ? made(parent.parent, kind) : null;
  }
  if (parent?.name !== 'ArgList' || parent.parent?.name !== 'CallExpression' || parent.firstChild?.nextSibling?.from !== node.from || [...children(parent)].length !== 3) return null;
  const callee = calleeOf(parent.parent);
  if (callee === null) return null;
  if (source.language === 'node') return isScriptDedent(source, callee) ? made(parent.parent, 'script-dedent') : null;
  const kind = functions[lastName(source, callee)];
  return kind === undefined ? null : made(parent.parent, kind);
}

const pythonSpace = '[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]';
const isEmpty = (call: SyntaxNode): boolean => [...children(call.getChild('ArgList'))].length === 2;
const lastName = (source: Source, callee: SyntaxNode): string => /[\w$]*$/.exec(textOf(source, callee))?.[0] ?? '';
const isScriptDedent = (source: Source, callee: SyntaxNode): boolean => /^(dedent|stripIndent)$/.test(lastName(source, callee));

/** What remains of a literal. */
export function applyTrims(pieces: readonly Piece[], trims: readonly Trim[]): Piece[] {
  return trims.reduce<Piece[]>((inner, trim) => mapText(inner, (text) => trimmed(text, trim)), [...pieces]);
}

/** A literal that the trims make into these pieces, laid out as the literal there was; when there is none, what they leave differs. */
export function undoTrims(pieces: readonly Piece[], trims: readonly Trim[], before: readonly Piece[]): Piece[] {
  const [inner, ...outer] = trims;
  if (inner === undefined) return [...pieces];
  const left = applyTrims(before, [inner]);
  const wanted = undoTrims(pieces, outer, left);
  let old = '';
  mapText(before, (text) => (old = text));
  return mapText(wanted, (text) => untrimmed(text, inner, old));
}

function trimmed(text: string, { kind, space }: Trim): string {
  const start = new RegExp(`^${space}+`);
  const end = new RegExp(`${space}+$`);
  switch (kind) {
    case 'start': return text.replace(start, '');
    case 'end': return text.replace(end, '');
    case 'both': return text.replace(start, '').replace(end, '');
    case 'dedent': return withoutMargin(text.split('\n').map((line) => (isBlank(line) ? '' : line)), marginOf(text)).join('\n');
    case 'script-dedent': return withoutMargin(text.split('\n'), marginOf(text, 'indented')).join('\n').trim();
    case 'cleandoc': {
      const [first = '', ...rest] = text.split('\n').map(expandTabs);
      const indents = rest.map((line) => line.length - line.replace(start, '').length).filter((indent, index) => indent < (rest[index]?.length ?? 0));
      return [first.replace(start, ''), ...rest.map((line) => line.slice(indents.length === 0 ? 0 : Math.min(...indents)))].join('\n').replace(/^\n+|\n+$/g, '');
    }
  }
}

/** Tabs as Python's `expandtabs` does them: to the next multiple of eight. */
function expandTabs(line: string): string {
  return line.split('\t').reduce((before, part) => before + ' '.repeat(8 - (before.length % 8)) + part);
}

function untrimmed(text: string, { kind, space }: Trim, old: string): string {
  const lead = new RegExp(`^${space}*`).exec(old)?.[0] ?? '';
  const trail = new RegExp(`${space}*$`).exec(old.slice(lead.length))?.[0] ?? '';
  switch (kind) {
    case 'start': return lead + text;
    case 'end': return text + trail;
    case 'both': return lead + text + trail;
    case 'dedent': return withMargin(text, marginOf(old), old);
    case 'script-dedent': {
      const margin = marginOf(old, 'indented');
      return (lead.includes('\n') ? `\n${margin}` : lead) + text.replace(/\n(?=[^\n])/g, `\n${margin}`) + trail;
    }
    case 'cleandoc': {
      const margin = marginOf(old.split('\n').slice(1).join('\n'));
      return (lead.includes('\n') ? `\n${margin}` : '') + text.replace(/\n(?=[^\n])/g, `\n${margin}`) + (trail.includes('\n') ? trail : '');
    }
  }
}

/** The white space that all lines begin with which are not blank, or of those the lines only that are indented. */
function marginOf(text: string, of: 'all' | 'indented' = 'all'): string {
  let margin: string | null = null;
  for (const line of text.split('\n')) {
    const indent = /^[ \t]*/.exec(line)?.[0] ?? '';
    if (isBlank(line) || (of === 'indented' && indent === '')) continue;
    if (margin === null) margin = indent;
    else while (!indent.startsWith(margin)) margin = margin.slice(0, -1);
  }
  return margin ?? '';
}

const isBlank = (line: string): boolean => /^[ \t]*$/.test(line);
const withoutMargin = (lines: string[], margin: string): string[] => lines.map((line) => (line.startsWith(margin) || isBlank(line) ? line.slice(margin.length) : line));

function withMargin(text: string, margin: string, old: string): string {
  const lines = text.split('\n').map((line) => (isBlank(line) ? line : margin + line));
  // The closing quotes stand where they stood.
  const closing = /\n([ \t]+)$/.exec(old)?.[1];
  if (closing !== undefined && lines.length > 1 && lines.at(-1) === '') lines[lines.length - 1] = closing;
  return lines.join('\n');
}
