import type { SyntaxNode } from '@lezer/common';
import { insertion } from './edits.ts';
import { setOptions } from './options.ts';
import type { Setting } from './options.ts';
import type { Pointing, Scope, Site } from './sites.ts';
import { nothing } from './sites.ts';
import { calleeOf, descendants, isCall, isText, mentions, optionsOf, textOf } from '../../trainer/source/syntax.ts';

/** Options of any library whose value reaches the model. */
export const promptOptions = ['messages', 'input', 'prompt', 'instructions', 'system', 'contents'];

/** Whether the model of the run is mentioned in a node, by any of its names. */
export const isPointed = (scope: Scope, node: SyntaxNode): boolean => scope.injected.some((name) => mentions(scope.source, node, name));

export function promptOf(scope: Scope, call: SyntaxNode): SyntaxNode[] {
  return optionsOf(scope.source, call).flatMap(({ name, value }) => (name !== null && value !== null && promptOptions.includes(name) ? [value] : []));
}

/** Settings without those that point at the run already. */
export function unpointed(scope: Scope, call: SyntaxNode, settings: Setting[]): Setting[] {
  const options = optionsOf(scope.source, call);
  return settings.filter(({ names }) => !options.some(({ name, value }) => name !== null && names.includes(name) && value !== null && isPointed(scope, value)));
}

/** The first of these options that is a literal, directly or as a variable of the module; undefined: none of them is given; null: said elsewhere. */
export function literalOption(scope: Scope, call: SyntaxNode, names: string[]): SyntaxNode | null | undefined {
  const given = optionsOf(scope.source, call);
  if (given.some(({ spread }) => spread)) return null;
  const options = given.filter(({ name }) => name !== null && names.includes(name));
  if (options.length === 0) return undefined;
  for (const { value } of options) {
    if (value?.name === 'VariableName') {
      const known = scope.local.get(textOf(scope.source, value)) ?? scope.module.get(textOf(scope.source, value));
      if (known?.name === 'String') return value;
    } else if (isText(value) && !isPointed(scope, value)) return value;
  }
  return null;
}

/** A constructor of a client: its options decide where the calls of the client go. */
export function constructorSite(scope: Scope, node: SyntaxNode, client: string, settings: (llm: string) => Setting[], addressOptions: string[]): Site {
  const open = unpointed(scope, node, settings('llm'));
  const literal = literalOption(scope, node, addressOptions);
  return {
    node, client, isCall: false, prompt: [], service: null,
    fixed: open.length === 0 || literal === null ? null : literal ?? calleeOf(node),
    point: (llm) => ({ ...nothing, edits: setOptions(scope.source, node, unpointed(scope, node, settings(llm))) }),
  };
}

/** `client.chat.completions.create(…)` and its relatives of an SDK in OpenAI's style, whatever the client is called. */
export function sdkSite(scope: Scope, node: SyntaxNode, clientBefore: { isClient(value: SyntaxNode | undefined): boolean; service(value: SyntaxNode | undefined): string | null; redirect(base: SyntaxNode, llm: string): Pointing }): Site | null {
  const base = clientOf(scope, node);
  if (base === null) return null;
  const name = base.name === 'VariableName' ? textOf(scope.source, base) : null;
  const local = name === null ? base : scope.local.get(name);
  const value = local ?? (name === null ? undefined : scope.module.get(name));
  const madeHere = local !== undefined && clientBefore.isClient(local);
  const pointed = isPointed(scope, base) || (local !== undefined && isPointed(scope, local));
  const model: (llm: string) => Setting[] = (llm) => unpointed(scope, node, [{ names: ['model'], value: `${llm}.model` }]);
  const literalModel = literalOption(scope, node, ['model']);
  const literalAddress = value !== undefined && clientBefore.isClient(value) ? literalOption(scope, value, ['base_url', 'api_key', 'baseURL', 'apiKey']) : null;
  return {
    node, client: 'OpenAI', isCall: true, prompt: promptOf(scope, node), service: clientBefore.service(value),
    fixed: pointed || madeHere ? (literalModel !== undefined && literalModel !== null ? literalModel : null) : literalAddress === null ? literalModel ?? null : base,
    point: (llm) => {
      const redirected = pointed || madeHere ? nothing : clientBefore.redirect(base, llm);
      return { ...redirected, edits: [...redirected.edits, ...setOptions(scope.source, node, model(llm))] };
    },
  };
}

/** A client with other options: `client.with_options(base_url=…)`. */
export function withOptions(scope: Scope, base: SyntaxNode, llm: string): Pointing {
  const text = scope.source.language === 'python' ? `.with_options(base_url=${llm}.endpoint, api_key=${llm}.api_key)` : `.withOptions({ baseURL: ${llm}.endpoint, apiKey: ${llm}.api_key })`;
  return { ...nothing, edits: [insertion(base.to, text)] };
}

/** What stands before `.chat.completions.create` or `.responses.create`. */
function clientOf(scope: Scope, call: SyntaxNode): SyntaxNode | null {
  const names: string[] = [];
  const spine: SyntaxNode[] = [];
  let node = calleeOf(call);
  while (node?.name === 'MemberExpression' && node.lastChild?.name.endsWith('PropertyName') === true) {
    names.unshift(textOf(scope.source, node.lastChild));
    spine.unshift(node);
    node = node.firstChild;
  }
  if (node === null || !['create', 'parse', 'stream'].includes(names.pop() ?? '')) return null;
  while (['with_raw_response', 'with_streaming_response'].includes(names.at(-1) ?? '')) names.pop();
  if (names.at(-1) === 'responses') names.pop();
  else if (names.at(-1) === 'completions' && names.at(-2) === 'chat') names.splice(-2);
  else return null;
  if (names.at(-1) === 'beta') names.pop();
  return names.length === 0 ? node : spine[names.length - 1] ?? null;
}

/** The calls in the body of a function, those of functions inside it included. */
export function* callsIn(scope: Scope): Generator<SyntaxNode> {
  for (const node of descendants(scope.body)) if (isCall(node)) yield node;
}
