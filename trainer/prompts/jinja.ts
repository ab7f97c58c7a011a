import { parse, tokenize } from '@huggingface/jinja';
import type { PromptVariable } from '../protocol/prompts.ts';

/** Names that Jinja itself brings. */
const builtIn = new Set(['range', 'dict', 'lipsum', 'cycler', 'joiner', 'namespace', 'loop', 'caller', 'self', 'super', 'true', 'false', 'none', 'True', 'False', 'None', 'raise_exception', 'strftime_now']);

/** What a Jinja template reads from outside, each by the first tag that names it; null when it does not parse. */
export function freeVariables(template: string): PromptVariable[] | null {
  // The parser knows no raw blocks; what is in them is text.
  const text = template.replace(/\{%-?\s*raw\s*-?%\}.*?\{%-?\s*endraw\s*-?%\}/gs, '');
  const names = new Names();
  try {
    names.read(parse(tokenize(text)));
  } catch {
    return null;
  }
  const tags = [...text.matchAll(/\{\{.*?\}\}|\{%.*?%\}/gs)].map(([tag]) => tag);
  return [...names.used].filter((name) => !names.bound.has(name) && !builtIn.has(name)).map((name) => ({
    name, placeholder: tags.find((tag) => new RegExp(`(?<![\\w.])${name}\\b`).test(tag)) ?? `{{ ${name} }}`,
  }));
}

class Names {
  readonly used = new Set<string>();
  readonly bound = new Set<string>();

  /** Walks the syntax tree without knowing all of its nodes: whatever is an identifier and no name of something else is a variable. */
  read(node: unknown): void {
    if (Array.isArray(node)) for (const each of node) this.read(each);
    else if (node instanceof Map) for (const [key, value] of node) this.read([key, value]);
    else if (isNode(node)) this.readNode(node);
  }

  private readNode(node: Node): void {
    switch (node.type) {
      case 'Identifier': this.used.add(String(node['value'])); return;
      case 'MemberExpression': this.read([node['object'], node['computed'] === true ? node['property'] : null]); return;
      case 'FilterExpression': case 'FilterStatement': this.read([node['operand'], node['body'], argumentsOf(node['filter'])]); return;
      case 'TestExpression': this.read([node['operand'], argumentsOf(node['test'])]); return;
      case 'KeywordArgumentExpression': this.read(node['value']); return;
      case 'For': this.bind(node['loopvar']); break;
      case 'Set': this.bind(node['assignee']); break;
      case 'Macro': this.bind([node['name'], node['args']]); break;
      case 'CallStatement': this.bind(node['callerArgs']); break;
    }
    for (const [key, value] of Object.entries(node)) if (key !== 'type') this.read(value);
  }

  private bind(target: unknown): void {
    if (Array.isArray(target)) for (const each of target) this.bind(each);
    else if (!isNode(target)) return;
    else if (target.type === 'Identifier') this.bound.add(String(target['value']));
    else if (target.type === 'KeywordArgumentExpression') this.bind(target['key']);
    else if (target.type === 'TupleLiteral') this.bind(target['value']);
  }
}

type Node = { type: string } & Record<string, unknown>;
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
/** A filter or test is named, not read; what it is given is read. */
const argumentsOf = (filter: unknown): unknown => (isNode(filter) && filter.type === 'CallExpression' ? filter['args'] : null);
