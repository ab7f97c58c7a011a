import type { SyntaxNode } from '@lezer/common';
import type { Edit } from './edits.ts';
import { insertion } from './edits.ts';
import { appendItems } from './layout.ts';
import { children, pathOf, textOf } from '../../trainer/source/syntax.ts';
import type { Source } from '../../trainer/source/syntax.ts';

/** One name that a CommonJS module exports. `at` is where the name stands; `value` what it stands for, in `{ name }` the name itself. */
interface CommonJsExport { name: string; at: SyntaxNode; value: SyntaxNode; statement: SyntaxNode }

/** `exports.name = …`, `module.exports.name = …`, `module.exports = { name, other: … }` and, as 'default', `module.exports = …`. */
function* commonJsExports(source: Source): Generator<CommonJsExport> {
  for (const statement of source.root.getChildren('ExpressionStatement')) {
    const assignment = statement.getChild('AssignmentExpression');
    const [target, value] = [assignment?.firstChild, assignment?.lastChild];
    if (target?.name !== 'MemberExpression' || target.lastChild === null || value === null || value === undefined) continue;
    const path = pathOf(source, target) ?? [];
    const isWhole = path.join('.') === 'module.exports';
    if (isWhole && value.name === 'ObjectExpression') {
      for (const property of value.getChildren('Property')) {
        const [at, last] = [property.getChild('PropertyDefinition'), property.lastChild];
        if (at !== null && last !== null && property.getChild('ParamList') === null) yield { name: textOf(source, at), at, value: last, statement };
      }
    } else if (isWhole) yield { name: 'default', at: target.lastChild, value, statement };
    else if ((path.length === 2 && path[0] === 'exports') || (path.length === 3 && path[0] === 'module' && path[1] === 'exports')) yield { name: path.at(-1) ?? '', at: target.lastChild, value, statement };
  }
}

/** The export that a function is the value of, written right there. */
export function commonJsExportOf(source: Source, node: SyntaxNode): Pick<CommonJsExport, 'name' | 'at' | 'statement'> | null {
  for (const { name, at, value, statement } of commonJsExports(source)) if (value.from === node.from && value.to === node.to) return { name, at, statement };
  return null;
}

/** The name under which a CommonJS module exports one of its own; null when it does not. */
export function commonJsNameOf(source: Source, local: string): string | null {
  for (const { name, value } of commonJsExports(source)) if (['VariableName', 'PropertyDefinition'].includes(value.name) && textOf(source, value) === local) return name;
  return null;
}

/** Edits that export a name, at the latest after its `statement`; null when the module exports one value as a whole. */
export function commonJsExportEdits(source: Source, local: string, after: number, semicolon: string): Edit[] | null {
  for (const statement of source.root.getChildren('ExpressionStatement').toReversed()) {
    const assignment = statement.getChild('AssignmentExpression');
    if (assignment?.firstChild === null || assignment === null || pathOf(source, assignment.firstChild)?.join('.') !== 'module.exports') continue;
    const object = assignment.lastChild;
    if (object?.name !== 'ObjectExpression' || statement.from < after) return null;
    return appendItems(source, object, [local], { padding: ' ' });
  }
  return [insertion(after, `${source.newline}exports.${local} = ${local}${semicolon}`)];
}

/** The last `require` in a row of declarations at the top of the module. */
export function lastRequire(source: Source): SyntaxNode | undefined {
  return [...children(source.root)].filter((node) => requiredBy(source, node) !== null).at(-1);
}

/** The string a declaration requires, as in `const { name } = require('module')`; null for any other. */
export function requiredBy(source: Source, node: SyntaxNode): SyntaxNode | null {
  const call = node.name === 'VariableDeclaration' ? node.getChild('CallExpression') : null;
  const callee = call?.firstChild;
  return call !== null && callee?.name === 'VariableName' && textOf(source, callee) === 'require' ? call.getChild('ArgList')?.getChild('String') ?? null : null;
}
