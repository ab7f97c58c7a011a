import type { SyntaxNode } from '@lezer/common';
import type { Prompt } from '../protocol/prompts.ts';
import type { Filling } from './engines.ts';
import { readFilling, variablesOf } from './engines.ts';
import { isPromptText } from './labels.ts';
import type { Modules, Module } from './modules.ts';
import { nameOf } from './names.ts';
import { holesOf, textOfPieces } from './pieces.ts';
import { readPrompt } from './read-prompt.ts';
import { readTextFile } from './text-file.ts';
import type { Sink, Use } from './trace.ts';
import { yamlTexts } from './yaml-prompt.ts';

type Found = Omit<Prompt, 'prompt_id'> & { id: string };

/** The prompts found so far; one that is reached in several ways is one. */
export class Collection {
  private readonly found = new Map<string, Found>();
  private readonly modules: Modules;

  constructor(modules: Modules) {
    this.modules = modules;
  }

  sinkFor(agent: string | null): Sink {
    return {
      literal: (module, node, use) => { this.literal(module, node, use, agent); },
      file: (path, use, parsed) => { this.file(path, use, parsed, agent); },
    };
  }

  /** In order of file and place; what has one name is numbered. */
  prompts(): Prompt[] {
    const inOrder = [...this.found.values()].sort((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.from - b.from));
    const counts = new Map<string, number>();
    return inOrder.map(({ id, ...prompt }) => {
      const count = (counts.get(id) ?? 0) + 1;
      counts.set(id, count);
      return { prompt_id: count === 1 ? id : `${id}.${count}`, ...prompt };
    });
  }

  private add(found: Found, agent: string | null): void {
    const key = `${found.file}:${found.from}`;
    const known = this.found.get(key);
    const agents = [...new Set([...known?.agents ?? [], ...agent === null ? [] : [agent]])];
    this.found.set(key, { ...(known !== undefined && rank(known.engine) >= rank(found.engine) ? known : found), agents });
  }

  private literal(module: Module, node: SyntaxNode, use: Use, agent: string | null): void {
    const read = readPrompt(module.source, node, use.filling);
    if (read === null || !isPromptText(read.pieces, use.standing)) return;
    const { syntax, engine, text, variables } = read;
    const name = nameOf(module, node);
    this.add({ id: `${module.path}#${name}`, name, file: module.path, syntax, engine, from: node.from, to: node.to, line: lineOf(module.source.text, node.from), text, variables, agents: [] }, agent);
  }

  private file(path: string, use: Use, parsed: 'text' | 'yaml', agent: string | null): void {
    const fileText = this.modules.readFile(path);
    if (fileText === null) return;
    if (parsed === 'yaml') {
      for (const { path: keys, text, from, to } of yamlTexts(fileText)) {
        if (use.keys.some((key, index) => key !== '*' && key !== keys[index])) continue;
        this.text(path, `${path}#${keys.join('.')}`, keys.join('.'), 'yaml', text, from, to, fileText, use.filling, agent);
      }
    } else this.text(path, path, path.split('/').at(-1) ?? path, 'file', readTextFile(fileText), 0, fileText.length, fileText, /\.(j2|jinja2?|njk)$/.test(path) ? { ...use.filling, engine: 'jinja' } : use.filling, agent);
  }

  private text(file: string, id: string, name: string, syntax: 'yaml' | 'file', text: string, from: number, to: number, fileText: string, filling: Filling, agent: string | null): void {
    const pieces = readFilling([text], filling);
    if (pieces === null || !isPromptText(pieces, 'told')) return;
    const engine = filling.engine === 'replace' && holesOf(pieces).length === 0 ? 'none' : filling.engine;
    this.add({ id, name, file, syntax, engine, from, to, line: lineOf(fileText, from), text: textOfPieces(pieces), variables: variablesOf(pieces, engine), agents: [] }, agent);
  }
}

/** A literal that is filled in on one of its ways is a template. */
const rank = (engine: Prompt['engine']): number => ({ none: 0, literal: 0, replace: 1, mustache: 2, format: 2, jinja: 3 })[engine];

const lineOf = (text: string, at: number): number => text.slice(0, at).split('\n').length;
