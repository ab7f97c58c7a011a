import type { SyntaxNode } from '@lezer/common';
import type { Edit } from './edits.ts';
import { insertion } from './edits.ts';
import { appendItems } from './layout.ts';
import { argumentsOf, optionsOf, textOf } from '../../trainer/source/syntax.ts';
import type { Source } from '../../trainer/source/syntax.ts';

/** An option to set: its names (the first is written when none of them is there yet) and its new value. */
export interface Setting { names: string[]; value: string }

/**
 * Sets options of a call: keyword arguments in Python, properties of its object in TypeScript. Values that are there are
 * replaced, others appended. An option that `**rest` may hold already is not appended: Python refuses an argument given twice.
 */
export function setOptions(source: Source, call: SyntaxNode, settings: Setting[]): Edit[] {
  const present = optionsOf(source, call);
  const edits: Edit[] = [];
  const missing: string[] = [];
  for (const { names, value } of settings) {
    const option = present.find(({ name }) => name !== null && names.includes(name));
    if (option?.value === null || option?.value === undefined) missing.push(`${names[0]}${source.language === 'python' ? '=' : ': '}${value}`);
    else if (option.nodes[0]?.name === 'Property' && option.nodes[0].firstChild?.nextSibling === null) edits.push({ from: option.from, to: option.to, insert: `${option.name}: ${value}` });
    else edits.push({ from: option.value.from, to: option.value.to, insert: value });
  }
  return [...edits, ...appendOptions(source, call, missing)];
}

function appendOptions(source: Source, call: SyntaxNode, texts: string[]): Edit[] {
  const list = call.getChild('ArgList');
  if (texts.length === 0) return [];
  if (list === null) return call.name === 'NewExpression' ? [insertion(call.to, `({ ${texts.join(', ')} })`)] : [];
  const given = argumentsOf(source, call);
  if (source.language === 'python') return given.some(({ spread, nodes }) => spread && nodes[0]?.name === '**') ? [] : appendItems(source, list, texts);
  const object = given.find(({ value }) => value?.name === 'ObjectExpression')?.value;
  if (object !== null && object !== undefined) return appendItems(source, object, texts, { padding: ' ' });
  const [first] = given;
  if (first === undefined) return [insertion(list.from + 1, `{ ${texts.join(', ')} }`)];
  return [{ from: first.from, to: first.to, insert: `{ ...${textOf(source, first.value ?? list)}, ${texts.join(', ')} }` }];
}
