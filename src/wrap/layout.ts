import type { SyntaxNode } from '@lezer/common';
import type { Edit } from './edits.ts';
import { insertion } from './edits.ts';
import { indentBefore, itemsOf, lineEnd } from '../../trainer/source/syntax.ts';
import type { Item, Source } from '../../trainer/source/syntax.ts';

/**
 * Appends items to a bracketed list in the list's own layout: on one line, or one item a line with its indentation and
 * its trailing comma. Comments stay beside the items they were beside.
 */
export function appendItems(source: Source, list: SyntaxNode, texts: string[], options: { padding?: string; items?: Item[] } = {}): Edit[] {
  if (texts.length === 0) return [];
  const { text, newline } = source;
  const items = options.items ?? itemsOf(source, list);
  const last = items.at(-1);
  const padding = options.padding ?? '';
  if (last === undefined) return [insertion(list.from + 1, padding + texts.join(', ') + padding)];
  const indent = indentBefore(text, last.from);
  const comma = commaAfter(list, last.to);
  if (indent === null) {
    return comma === null ? [insertion(last.to, texts.map((each) => `, ${each}`).join(''))] : [insertion(comma, texts.map((each) => ` ${each},`).join(''))];
  }
  const afterLast = comma ?? last.to;
  const end = lineEnd(text, afterLast);
  const ownLine = end < list.to; // the closing bracket is further down
  const at = ownLine ? end : afterLast;
  const lines = texts.map((each) => newline + indent + each);
  if (comma !== null) return [insertion(at, lines.map((line) => `${line},`).join(''))];
  if (at === last.to) return [insertion(at, lines.map((line) => `,${line}`).join(''))];
  return [insertion(last.to, ','), insertion(at, lines.join(','))];
}

function commaAfter(list: SyntaxNode, at: number): number | null {
  for (let node = list.lastChild; node !== null && node.from >= at; node = node.prevSibling) if (node.name === ',') return node.to;
  return null;
}
