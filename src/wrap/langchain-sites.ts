import type { SyntaxNode } from '@lezer/common';
import { applyEdits } from './edits.ts';
import { setOptions } from './options.ts';
import type { Setting } from './options.ts';
import { isPointed } from './sdk-call.ts';
import type { Scope, Site } from './sites.ts';
import { nothing } from './sites.ts';
import { argumentsOf, descendants, textOf } from '../../trainer/source/syntax.ts';

/** Whether a value makes a LangChain model, in the language of the file. */
type MakesModel = (value: SyntaxNode | undefined) => boolean;

const promptOf = (scope: Scope, call: SyntaxNode): SyntaxNode[] => argumentsOf(scope.source, call).flatMap((each) => each.value ?? []);

/** `model.invoke(prompt)` on a LangChain model made in this function. */
export function modelCallSite(scope: Scope, call: SyntaxNode, path: string[] | null, makesModel: MakesModel): Site | null {
  if (path?.length !== 2 || !makesModel(scope.local.get(path[0] ?? ''))) return null;
  return { node: call, client: 'LangChain', isCall: true, prompt: promptOf(scope, call), service: null, fixed: null, point: () => nothing };
}

/** LangChain models of the module that the function uses: they cannot be pointed anew, so the function makes its own. `own`: the statement for that. */
export function moduleModelSites(scope: Scope, makesModel: MakesModel, own: (name: string, value: SyntaxNode, llm: string) => string): Site[] {
  const sites: Site[] = [];
  const seen = new Set<string>();
  for (const node of descendants(scope.body)) {
    const name = node.name === 'VariableName' ? textOf(scope.source, node) : '';
    const value = scope.local.has(name) || scope.injected.includes(name) ? undefined : scope.module.get(name);
    if (value === undefined || seen.has(name) || !makesModel(value) || isPointed(scope, value)) continue;
    seen.add(name);
    const call = node.parent?.parent;
    sites.push({
      node, client: 'LangChain', isCall: true, prompt: call?.name === 'CallExpression' ? promptOf(scope, call) : [], service: null, fixed: node,
      point: (llm) => ({ ...nothing, openings: [{ name, text: own(name, value, llm) }] }),
    });
  }
  return sites;
}

/** The text of a call with other options, on one line. */
export function onOneLine(scope: Scope, call: SyntaxNode, settings: Setting[]): string {
  const edits = setOptions(scope.source, call, settings).map(({ from, to, insert }) => ({ from: from - call.from, to: to - call.from, insert }));
  return applyEdits(textOf(scope.source, call), edits).split('\n').map((line) => line.trim()).join(' ');
}
