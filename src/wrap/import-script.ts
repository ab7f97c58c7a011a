import type { SyntaxNode } from '@lezer/common';
import type { Edit } from './edits.ts';
import { insertion } from './edits.ts';
import { lastRequire, requiredBy } from './commonjs.ts';
import { importsOf } from './imports.ts';
import { appendItems } from './layout.ts';
import type { ScriptStyle } from './script-style.ts';
import { children, isTaken, lineEnd, unquoted } from '../../trainer/source/syntax.ts';
import type { Source } from '../../trainer/source/syntax.ts';

const ours = 'agent-trainer/runtime';

export interface Wanted { name: string; isType: boolean }

/** How names of the runtime are written in this file, and the edits that import those that are not yet, with further names of other modules. */
export function scriptImport(source: Source, style: ScriptStyle, wanted: Wanted[], others: { module: string; name: string }[]): { names: string[]; edits: Edit[] } {
  const imports = importsOf(source);
  const names: string[] = [];
  const missing: string[] = [];
  for (const { name, isType } of wanted) {
    const known = [...imports].find(([, { module, name: imported }]) => module === ours && imported === name)?.[0];
    const namespace = [...imports].find(([, { module, name: imported }]) => module === ours && imported === null)?.[0];
    if (known !== undefined) names.push(known);
    else if (namespace !== undefined) names.push(`${namespace}.${name}`);
    else {
      const local = isTaken(source, name) ? (isType ? 'TrainerLLM' : 'trainerRollout') : name;
      names.push(local);
      missing.push(`${isType ? 'type ' : ''}${name}${local === name ? '' : `${style.isCommonJs ? ':' : ' as'} ${local}`}`);
    }
  }
  const edits = missing.length === 0 ? [] : importEdits(source, style, missing);
  for (const { module, name } of others) {
    if (imports.has(name)) continue;
    const group = groupOf(source, module);
    if (group !== null) edits.push(...appendItems(source, group, [name], { padding: ' ' }));
    else edits.push(...importEdits(source, style, [name], module));
  }
  return { names, edits };
}

function importEdits(source: Source, style: ScriptStyle, names: string[], module = ours): Edit[] {
  const { text, newline } = source;
  const { quote, semicolon } = style;
  const group = groupOf(source, module, false);
  if (group !== null) return appendItems(source, group, names, { padding: ' ' });
  const given = `${quote}${module}${quote}`;
  const line = style.isCommonJs ? `const { ${names.join(', ')} } = require(${given})${semicolon}` : `import { ${names.join(', ')} } from ${given}${semicolon}`;
  const last = style.isCommonJs ? lastRequire(source) : source.root.getChildren('ImportDeclaration').at(-1);
  if (last !== undefined) return [insertion(lineEnd(text, last.to), newline + line)];
  const at = afterHeader(source);
  return [insertion(at, line + newline + newline)];
}

/** The braces of the import of a module, or of what is taken from a `require` of it; null without such. */
function groupOf(source: Source, module: string, ofTypes = true): SyntaxNode | null {
  for (const node of children(source.root)) {
    const from = node.name === 'ImportDeclaration' ? node.getChild('String') : requiredBy(source, node);
    if (from === null || unquoted(source, from) !== module) continue;
    return !ofTypes && node.getChild('type') !== null ? null : node.getChild('ImportGroup') ?? node.getChild('ObjectPattern');
  }
  return null;
}

/** After the shebang, a comment on the file (one that an empty line follows) and directives like 'use strict'. */
function afterHeader(source: Source): number {
  const { text } = source;
  let at = 0;
  const past = (to: number): number => {
    const end = text.indexOf('\n', to);
    return end === -1 ? text.length : end + 1;
  };
  if (text.startsWith('#!', at)) at = past(at);
  for (const node of children(source.root)) {
    const isComment = node.name === 'LineComment' || node.name === 'BlockComment';
    const isDirective = node.name === 'ExpressionStatement' && node.firstChild?.name === 'String';
    const next = past(node.to);
    if (isDirective || (isComment && text.slice(next, past(next)).trim() === '')) at = Math.max(at, next);
    else if (!isComment && node.name !== 'Hashbang') break;
  }
  return at;
}
