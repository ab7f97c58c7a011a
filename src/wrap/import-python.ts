import type { SyntaxNode } from '@lezer/common';
import type { Edit } from './edits.ts';
import { insertion } from './edits.ts';
import { importsOf } from './imports.ts';
import { appendItems } from './layout.ts';
import { children, isTaken, lineEnd, textOf } from '../../trainer/source/syntax.ts';
import type { Source } from '../../trainer/source/syntax.ts';

const ours = 'agent_trainer';

/** How names of agent_trainer are written in this file, and the edits that import those that are not yet. */
export function pythonImport(source: Source, wanted: string[]): { names: string[]; edits: Edit[] } {
  const imports = importsOf(source);
  const names: string[] = [];
  const missing: string[] = [];
  for (const name of wanted) {
    const known = [...imports].find(([, imported]) => imported.module === ours && imported.name === name)?.[0];
    const module = [...imports].find(([, imported]) => imported.module === ours && imported.name === null)?.[0];
    if (known !== undefined) names.push(known);
    else if (module !== undefined) names.push(`${module}.${name}`);
    else {
      const local = isTaken(source, name) ? `trainer_${name.toLowerCase()}` : name;
      names.push(local);
      missing.push(local === name ? name : `${name} as ${local}`);
    }
  }
  return { names, edits: missing.length === 0 ? [] : importEdits(source, missing) };
}

function importEdits(source: Source, names: string[]): Edit[] {
  const statements = [...children(source.root)].filter(({ name }) => name !== 'Comment');
  const existing = statements.find((statement) => statement.name === 'ImportStatement' && moduleOf(source, statement) === ours && statement.firstChild?.name === 'from' && statement.getChild('*') === null);
  if (existing !== undefined) return extended(source, existing, names);
  const line = `from ${ours} import ${names.sort(byName).join(', ')}`;
  const { text, newline } = source;
  const docstring = statements[0]?.name === 'ExpressionStatement' && statements[0].firstChild?.name === 'String' ? statements[0] : null;
  const leading: SyntaxNode[] = [];
  for (const statement of docstring === null ? statements : statements.slice(1)) {
    if (statement.name !== 'ImportStatement') break;
    leading.push(statement);
  }
  const absolute = leading.findLast((statement) => !moduleOf(source, statement).startsWith('.'));
  if (absolute !== undefined) {
    const apart = moduleOf(source, absolute) === '__future__' ? newline : '';
    return [insertion(lineEnd(text, absolute.to), newline + apart + line)];
  }
  if (leading[0] !== undefined) return [insertion(leading[0].from, line + newline)];
  if (docstring !== null) return [insertion(lineEnd(text, docstring.to), newline + newline + line)];
  const at = afterHeader(text);
  return [insertion(at, line + newline + newline)];
}

/** After the shebang and the coding comment. */
function afterHeader(text: string): number {
  let at = 0;
  for (let line = 0; line < 2 && text[at] === '#'; line++) {
    const end = text.indexOf('\n', at);
    const comment = text.slice(at, end === -1 ? text.length : end);
    if (end === -1 || !(line === 0 && comment.startsWith('#!')) && !comment.includes('coding')) break;
    at = end + 1;
  }
  return at;
}

function extended(source: Source, statement: SyntaxNode, names: string[]): Edit[] {
  const open = statement.getChild('(');
  if (open === null) return [insertion(statement.lastChild?.to ?? statement.to, names.map((name) => `, ${name}`).join(''))];
  const items = statement.getChildren('VariableName').filter(({ from }) => from > open.from).map((node) => ({ name: null, value: node, from: node.from, to: node.to, spread: false, nodes: [node] }));
  return appendItems(source, statement, names, { items });
}

/** The module an import statement names first. */
function moduleOf(source: Source, statement: SyntaxNode): string {
  let module = '';
  for (const node of children(statement)) {
    if (node.name === 'from' || (node.name === 'import' && module === '')) continue;
    if (node.name === 'import' || node.name === ',' || node.name === 'as') break;
    module += textOf(source, node);
  }
  return module;
}

const byName = (a: string, b: string): number => (a.toLowerCase() < b.toLowerCase() ? -1 : 1);
