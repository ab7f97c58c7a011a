import { posix } from 'node:path';
import type { SyntaxNode } from '@lezer/common';
import { argumentsOf, calleeOf, children, descendants, textOf } from '../source/syntax.ts';
import { scopeAt } from './modules.ts';
import type { Module, Modules } from './modules.ts';
import { declaredAt } from './declarations.ts';

const reads = /^(read_text|readFileSync|readFile|read|readlines|open|get_template|getTemplate|text)$/;

/** The file of the workspace that a call reads: `open("prompts/a.txt").read()`, `Path(…).read_text()`, `readFileSync(…)`, `get_template("a.j2")`; null when it reads none. */
export function readFilePath(modules: Modules, module: Module, call: SyntaxNode): string | null {
  const inner = call.name === 'AwaitExpression' ? call.lastChild : call;
  if (inner?.name === 'VariableName') {
    const opened = scopeAt(module, inner.from).lookUp(textOf(module.source, inner))?.[0];
    const declared = opened === undefined ? null : declaredAt(module.source, opened.at);
    return declared?.kind === 'value' && declared.node.name === 'CallExpression' ? readFilePath(modules, module, declared.node) : null;
  }
  if (inner?.name !== 'CallExpression') return null;
  const callee = calleeOf(inner);
  const property = callee?.name === 'MemberExpression' ? callee.getChild('PropertyName') : callee;
  if (callee === null || property == null || !reads.test(textOf(module.source, property))) return null;
  const receiver = callee.name === 'MemberExpression' ? callee.firstChild : null;
  const name = textOf(module.source, property);
  if (receiver !== null && (name === 'read' || name === 'text')) return readFilePath(modules, module, receiver);
  const given = argumentsOf(module.source, inner)[0]?.value ?? null;
  const isMethod = name === 'read_text' || (name === 'open' && receiver !== null && given === null);
  return found(modules, module, partsOf(module, isMethod ? receiver : given, 8));
}

/** The names in a path expression, in order; those of variables of the file included. */
function partsOf(module: Module, node: SyntaxNode | null, steps: number): string[] {
  if (node === null || steps === 0) return [];
  const parts: string[] = [];
  for (const each of descendants(node, (at) => at.name !== 'String' && at.name !== 'MemberExpression')) {
    if (each.name === 'String') parts.push(...textOf(module.source, each).replace(/^\w*["']|["']$/g, '').split('/'));
    else if (each.name === 'TemplateString') parts.push(...[...children(each)].some((child) => child.name === 'Interpolation') ? ['\0'] : textOf(module.source, each).slice(1, -1).split('/'));
    else if (each.name === 'FormatString') parts.push('\0');
    else if (each.name === 'MemberExpression') parts.push(...partsOf(module, each.firstChild, steps));
    else if (each.name === 'VariableName') {
      for (const { at } of scopeAt(module, each.from).lookUp(textOf(module.source, each)) ?? []) {
        const declared = declaredAt(module.source, at);
        if (declared?.kind === 'value' && declared.node.from !== node.from) parts.push(...partsOf(module, declared.node, steps - 1));
      }
    }
  }
  return parts.filter((part) => part !== '' && part !== '.' && !/^(utf-?8|r|rt)$/i.test(part));
}

/** The file with these names, from the module's folder up. */
function found(modules: Modules, module: Module, parts: string[]): string | null {
  const name = parts.join('/');
  if (name === '' || name.includes('\0') || !/\.\w+$/.test(name) || /\.(py|[cm]?[jt]sx?|json|csv|jsonl|db|sqlite)$/.test(name)) return null;
  for (let folder = posix.dirname(module.path); ; folder = posix.dirname(folder)) {
    for (const path of [posix.join(folder, name), posix.join(folder, 'templates', name), posix.join(folder, 'prompts', name)]) if (!path.startsWith('..') && modules.readFile(path) !== null) return path;
    if (folder === '.' || folder === '/') return null;
  }
}
