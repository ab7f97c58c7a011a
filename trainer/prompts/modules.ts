import { posix } from 'node:path';
import type { SyntaxNode } from '@lezer/common';
import { emptyProgram } from '../source/program.ts';
import type { Binding, Definition, Program, Scope, Value } from '../source/program.ts';
import { readPython } from '../source/read-python.ts';
import { readScript } from '../source/read-script.ts';
import { nodesOf, parseSource, textOf } from '../source/syntax.ts';
import type { Source } from '../source/syntax.ts';

/** A source file of the user's: its syntax tree, and what its names stand for. */
export interface Module { path: string; source: Source; program: Program }

/** The text of a file by its path in the workspace, with forward slashes; null when there is none. */
export type ReadFile = (path: string) => string | null;

const scriptEndings = ['', '.ts', '.tsx', '.mts', '.js', '.jsx', '.mjs', '.cjs', '/index.ts', '/index.js'];

/** The user's files that an agent is made of, read when they are asked for. */
export class Modules {
  readonly readFile: ReadFile;
  private readonly known = new Map<string, Module | null>();

  constructor(readFile: ReadFile) {
    this.readFile = readFile;
  }

  get loaded(): Module[] { return [...this.known.values()].filter((module) => module !== null); }

  get(path: string): Module | null {
    let module = this.known.get(path);
    if (module === undefined) {
      const text = path.startsWith('..') ? null : this.readFile(path);
      module = text === null ? null : readModule(path, text);
      this.known.set(path, module);
    }
    return module;
  }

  /** What an imported value is: a name of another of the user's files, or (`name` null) the file as a whole. */
  imported(from: Module, path: string): { module: Module; name: string | null } | null {
    return from.program.language === 'python' ? this.importedInPython(from, path) : this.importedInScript(from, path);
  }

  private importedInPython(from: Module, path: string): { module: Module; name: string | null } | null {
    const dots = /^\.*/.exec(path)?.[0].length ?? 0;
    const parts = path.slice(dots).split('.').filter((part) => part !== '');
    const folder = posix.dirname(from.path);
    const bases = dots > 0 ? [posix.join(folder, ...Array<string>(dots - 1).fill('..'))] : ancestors(folder);
    for (const base of bases) {
      for (const length of [parts.length, parts.length - 1]) {
        if (length < 0 || (length === 0 && dots === 0)) continue;
        const stem = posix.join(base, ...parts.slice(0, length));
        const module = (length > 0 ? this.get(`${stem}.py`) : null) ?? this.get(`${stem}/__init__.py`);
        if (module !== null && module !== from) return { module, name: parts[length] ?? null };
      }
    }
    return null;
  }

  private importedInScript(from: Module, path: string): { module: Module; name: string | null } | null {
    const colon = path.lastIndexOf(':');
    const specifier = path.slice(0, colon);
    const name = path.slice(colon + 1);
    const bases = specifier.startsWith('.') ? [posix.join(posix.dirname(from.path), specifier)] : /^[@~]\//.test(specifier) ? [`src/${specifier.slice(2)}`, specifier.slice(2)] : [];
    for (const base of bases) {
      for (const stem of [base, base.replace(/\.([cm]?)js(x?)$/, '.$1ts$2'), base.replace(/\.[cm]?jsx?$/, '')]) {
        for (const ending of scriptEndings) {
          const module = this.get(stem + ending);
          if (module !== null) return { module, name: name === '' || name === '*' ? null : name };
        }
      }
    }
    return null;
  }

  /** What a file gives other files under a name: the bindings of a variable of it or of the file it has it from, or a value without a name. */
  exported(module: Module, name: string, steps = 4): Exported | null {
    const { exports, root, language } = module.program;
    const listed = exports.find((each) => each.name === name);
    const local = listed?.value.kind === 'name' ? listed.value.name : name;
    const isPublic = language === 'python' || listed !== undefined || module.source.text.includes('module.exports');
    const bindings = isPublic ? root.own(local) : undefined;
    if (bindings !== undefined) return { module, name: local, bindings };
    for (const node of steps > 0 && language === 'node' ? nodesOf(module.source.root, ['ExportDeclaration']) : []) {
      const from = node.getChild('String');
      const group = node.getChild('ExportGroup');
      const original = group === null ? name : originalName(module, group, name);
      const found = from === null || original === null ? null : this.imported(module, `${textOf(module.source, from).slice(1, -1)}:${original}`);
      const again = found?.name == null ? null : this.exported(found.module, found.name, steps - 1);
      if (again !== null) return again;
    }
    const value = listed === undefined ? null : nodeAt(module, listed.at.from, listed.at.to);
    return value === null ? null : { module, name, bindings: [], value };
  }
}

export interface Exported { module: Module; name: string; bindings: Binding[]; value?: SyntaxNode }

/** The module path of an imported value, `require` with a pattern included; null for any other value. */
export function importPath(value: Value): string | null {
  if (value.kind === 'import') return value.path;
  return value.kind === 'member' && value.of.kind === 'import' && value.of.path.endsWith(':') ? value.of.path + value.name : null;
}

/** The outermost node of a range. */
export function nodeAt(module: Module, from: number, to: number): SyntaxNode | null {
  let found: SyntaxNode | null = null;
  for (let node: SyntaxNode | null = module.source.root.resolveInner(from, 1); node !== null && node.from === from && node.to <= to; node = node.parent) if (node.to === to) found = node;
  return found;
}

function originalName({ source }: Module, group: SyntaxNode, name: string): string | null {
  for (const node of group.getChildren('VariableName')) {
    if (node.prevSibling?.name === 'as') continue;
    const alias = node.nextSibling?.name === 'as' ? node.nextSibling.nextSibling ?? node : node;
    if (textOf(source, alias) === name) return textOf(source, node);
  }
  return null;
}

function readModule(path: string, text: string): Module | null {
  const source = parseSource(path, text);
  if (source === null) return null;
  try {
    const program = source.language === 'python' ? readPython(text) : readScript(text, { typescript: source.typescript, jsx: /x$|\.[cm]?js$/.test(path) });
    return { path, source, program };
  } catch (error) {
    // Nested so deeply that reading it ran out of stack: written by no one.
    if (error instanceof RangeError) return { path, source, program: emptyProgram(source.language) };
    throw error;
  }
}

function ancestors(folder: string): string[] {
  const found: string[] = [];
  for (let at = folder; ; at = posix.dirname(at)) {
    found.push(at);
    if (at === '.' || at === '/' || at === '') return [...found, 'src'];
  }
}

/** The innermost function or class around a place. */
export function definitionAt({ program }: Module, from: number): Definition | null {
  let innermost: Definition | null = null;
  for (const definition of program.definitions) if (definition.from <= from && from < definition.to && (innermost === null || definition.from >= innermost.from)) innermost = definition;
  return innermost;
}

/** Where the names at a place are looked up. */
export const scopeAt = (module: Module, from: number): Scope => definitionAt(module, from)?.scope ?? module.program.root;
