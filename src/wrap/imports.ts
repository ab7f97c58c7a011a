import type { SyntaxNode } from '@lezer/common';
import { requiredBy } from './commonjs.ts';
import { children, nodesOf, textOf, unquoted } from '../../trainer/source/syntax.ts';
import type { Source } from '../../trainer/source/syntax.ts';

/** What an import binds a local name to: a name of a module, or (null) the module itself. */
export interface Imported { module: string; name: string | null }

const read = new WeakMap<Source, Map<string, Imported>>();

/** Local names and what the file's imports make of them, wherever in the file they stand. */
export function importsOf(source: Source): Map<string, Imported> {
  const known = read.get(source);
  if (known !== undefined) return known;
  const names = new Map<string, Imported>();
  read.set(source, names);
  for (const node of nodesOf(source.root, ['ImportStatement', 'ImportDeclaration', 'VariableDeclaration'])) {
    if (node.name === 'ImportStatement') readPythonImport(source, node, names);
    else if (node.name === 'ImportDeclaration') readScriptImport(source, node, names);
    else if (node.name === 'VariableDeclaration') readRequire(source, node, names);
  }
  return names;
}

/** A path as `module:name.of.it` by the file's imports, as in `openai:chat.completions.create`; null when its start is not imported. */
export function resolve(imports: Map<string, Imported>, path: string[] | null): string | null {
  const start = path === null ? undefined : imports.get(path[0] ?? '');
  if (path === null || start === undefined) return null;
  let rest = path.slice(1);
  if (start.name !== null) rest = [start.name, ...rest];
  // `import urllib.request` binds urllib; the path goes on through the module's own name.
  for (const part of start.module.split('.').slice(1)) {
    if (start.name !== null || rest[0] !== part) break;
    rest = rest.slice(1);
  }
  return `${start.module}:${rest.join('.')}`;
}

function readPythonImport(source: Source, statement: SyntaxNode, names: Map<string, Imported>): void {
  let from: string | null = null;
  let isFrom = false;
  let dotted = '';
  let alias: string | null = null;
  let afterAs = false;
  const close = (): void => {
    if (dotted !== '') {
      if (isFrom) names.set(alias ?? dotted, { module: from ?? '', name: dotted });
      else names.set(alias ?? dotted.split('.')[0] ?? dotted, { module: dotted, name: null });
    }
    dotted = '';
    alias = null;
    afterAs = false;
  };
  for (const node of children(statement)) {
    if (node.name === 'from') isFrom = true;
    else if (node.name === 'import') {
      if (isFrom) {
        from = dotted;
        dotted = '';
      }
    } else if (node.name === 'as') afterAs = true;
    else if (node.name === ',') close();
    else if (node.name === 'VariableName' || node.name === '.' || node.name === 'Ellipsis') {
      if (afterAs) alias = textOf(source, node);
      else dotted += textOf(source, node);
    }
  }
  close();
}

function readScriptImport(source: Source, node: SyntaxNode, names: Map<string, Imported>): void {
  const from = node.getChild('String');
  if (from === null) return;
  const module = unquoted(source, from);
  for (const child of children(node)) {
    if (child.name === 'VariableDefinition') names.set(textOf(source, child), { module, name: child.prevSibling?.name === 'as' ? null : 'default' });
  }
  for (const child of children(node.getChild('ImportGroup'))) {
    if (child.name !== 'VariableDefinition') continue;
    const renamed = child.prevSibling?.name === 'as' ? child.prevSibling.prevSibling : null;
    names.set(textOf(source, child), { module, name: textOf(source, renamed ?? child) });
  }
}

function readRequire(source: Source, node: SyntaxNode, names: Map<string, Imported>): void {
  const from = requiredBy(source, node);
  if (from === null) return;
  const module = unquoted(source, from);
  const whole = node.getChild('VariableDefinition');
  if (whole !== null) names.set(textOf(source, whole), { module, name: null });
  for (const property of node.getChild('ObjectPattern')?.getChildren('PatternProperty') ?? []) {
    const [key, bound] = [property.firstChild, property.getChild('VariableDefinition')];
    if (key !== null && bound !== null) names.set(textOf(source, bound), { module, name: textOf(source, key) });
  }
}
