import type { SyntaxNode } from '@lezer/common';
import { children, descendants, textOf } from '../../trainer/source/syntax.ts';
import type { Source } from '../../trainer/source/syntax.ts';

/** How a file writes its strings and ends its statements. */
export interface ScriptStyle { quote: string; semicolon: string; isCommonJs: boolean }

export function styleOf(source: Source): ScriptStyle {
  const statements = [...children(source.root)].filter(({ name }) => ['ImportDeclaration', 'VariableDeclaration', 'ExpressionStatement', 'ExportDeclaration'].includes(name));
  const plain = statements.filter((statement) => !(statement.name === 'ExportDeclaration' && statement.lastChild?.name !== ';' && statement.getChild('VariableDeclaration') === null));
  const ends = plain.filter((statement) => source.text[statement.to - 1] === ';').length;
  const isModule = statements.some(({ name }) => name === 'ImportDeclaration' || name === 'ExportDeclaration') || source.typescript || source.fileName.endsWith('.mjs');
  return { quote: firstQuote(source, statements), semicolon: plain.length > 0 && ends * 2 < plain.length ? '' : ';', isCommonJs: source.fileName.endsWith('.cjs') || (!isModule && usesCommonJs(source)) };
}

function firstQuote(source: Source, statements: SyntaxNode[]): string {
  const module = statements.find(({ name }) => name === 'ImportDeclaration')?.getChild('String');
  if (module !== null && module !== undefined) return source.text[module.from] ?? "'";
  for (const node of descendants(source.root)) if (node.name === 'String') return source.text[node.from] ?? "'";
  return "'";
}

function usesCommonJs(source: Source): boolean {
  for (const node of descendants(source.root)) if (node.name === 'VariableName' && ['require', 'module', 'exports'].includes(textOf(source, node))) return true;
  return false;
}
