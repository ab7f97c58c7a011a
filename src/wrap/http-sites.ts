import type { SyntaxNode } from '@lezer/common';
import type { Edit } from './edits.ts';
import type { Scope, Site } from './sites.ts';
import { nothing } from './sites.ts';
import { isPointed } from './sdk-call.ts';
import { argumentsOf, calleeOf, children, descendants, isText, itemsOf, pathOf, textOf, unquoted } from '../../trainer/source/syntax.ts';

const route = '/chat/completions';

/** `fetch`, `requests.post`, `urllib.request.Request` … with a URL that ends in /chat/completions. */
export function httpSite(scope: Scope, call: SyntaxNode): Site | null {
  const path = pathOf(scope.source, calleeOf(call));
  const called = path?.at(-1) ?? '';
  if (!['fetch', 'post', 'request', 'Request', 'urlopen'].includes(called)) return null;
  const url = argumentsOf(scope.source, call).find(({ name, value }) => (name === null || name === 'url') && value !== null && isRoute(scope, value))?.value;
  if (url === null || url === undefined) return null;
  const literal = literalOf(scope, url);
  const pointed = isPointed(scope, url) || (literal !== null && isPointed(scope, literal));
  return {
    node: call, client: 'HTTP', isCall: true, prompt: bodies(scope).flatMap(({ messages }) => messages), service: null,
    fixed: pointed || literal === null ? null : url,
    point: (llm) => ({ ...nothing, edits: pointed ? [] : [{ from: url.from, to: url.to, insert: routeOf(scope, llm, literal) }, ...bodyEdits(scope, llm)] }),
  };
}

function isRoute(scope: Scope, node: SyntaxNode): boolean {
  const literal = literalOf(scope, node);
  return literal !== null && unquoted(scope.source, literal).endsWith(route);
}

/** The text a URL argument is, directly or as a variable. */
function literalOf(scope: Scope, node: SyntaxNode): SyntaxNode | null {
  if (isText(node)) return node;
  if (node.name === 'CallExpression' || node.name === 'NewExpression') { // new URL('…')
    const first = node.getChild('ArgList')?.firstChild?.nextSibling;
    return isText(first) ? first : null;
  }
  if (node.name === 'BinaryExpression') return isText(node.lastChild) ? node.lastChild : null;
  if (node.name !== 'VariableName') return null;
  const value = scope.local.get(textOf(scope.source, node)) ?? scope.module.get(textOf(scope.source, node));
  if (value?.name === 'BinaryExpression') return isText(value.lastChild) ? value.lastChild : null;
  return isText(value) ? value : null;
}

function routeOf(scope: Scope, llm: string, literal: SyntaxNode | null): string {
  if (scope.source.language === 'node') return `\`\${${llm}.endpoint}${route}\``;
  const quote = literal !== null && textOf(scope.source, literal).endsWith("'") ? "'" : '"';
  return `f${quote}{${llm}.endpoint}${route}${quote}`;
}

interface Body { model: SyntaxNode; messages: SyntaxNode[] }

/** Objects of the function that have a model and messages: the bodies of requests. */
function bodies(scope: Scope): Body[] {
  const found: Body[] = [];
  for (const node of descendants(scope.body)) {
    const entries = entriesOf(scope, node);
    const [model, messages] = [entries.get('model'), entries.get('messages')];
    if (model !== undefined && messages !== undefined) found.push({ model, messages: [messages] });
  }
  return found;
}

function bodyEdits(scope: Scope, llm: string): Edit[] {
  const edits: Edit[] = [];
  for (const { model } of bodies(scope)) if (!isPointed(scope, model)) edits.push(replacing(scope, model, `${llm}.model`, 'model'));
  for (const node of descendants(scope.body)) {
    for (const [name, value] of entriesOf(scope, node)) {
      if (name.toLowerCase() !== 'authorization' || isPointed(scope, value)) continue;
      const quote = [...textOf(scope.source, value)].find((mark) => mark === "'" || mark === '"') ?? '"';
      edits.push(replacing(scope, value, scope.source.language === 'node' ? `\`Bearer \${${llm}.api_key}\`` : `f${quote}Bearer {${llm}.api_key}${quote}`, name));
    }
  }
  return edits;
}

function replacing(scope: Scope, value: SyntaxNode, insert: string, name: string): Edit {
  const shorthand = value.name === 'PropertyDefinition';
  return { from: value.from, to: value.to, insert: shorthand ? `${name}: ${insert}` : insert };
}

/** Names and values of a dictionary or an object. */
function entriesOf(scope: Scope, node: SyntaxNode): Map<string, SyntaxNode> {
  if (node.name === 'ObjectExpression') return new Map(itemsOf(scope.source, node).flatMap(({ name, value }) => (name === null || value === null ? [] : [[name, value]])));
  const entries = new Map<string, SyntaxNode>();
  if (node.name !== 'DictionaryExpression') return entries;
  for (const colon of children(node)) {
    const [key, value] = [colon.prevSibling, colon.nextSibling];
    if (colon.name === ':' && key?.name === 'String' && value !== null) entries.set(unquoted(scope.source, key), value);
  }
  return entries;
}
