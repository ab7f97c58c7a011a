import type { SyntaxNode } from '@lezer/common';
import { resolve } from './imports.ts';
import { modelCallSite, moduleModelSites, onOneLine } from './langchain-sites.ts';
import { httpSite } from './http-sites.ts';
import { setOptions } from './options.ts';
import type { Setting } from './options.ts';
import { callsIn, constructorSite, literalOption, promptOf, sdkSite, unpointed, withOptions } from './sdk-call.ts';
import { closedService, isAssistantsCall } from './services.ts';
import type { Scope, Site } from './sites.ts';
import { nothing } from './sites.ts';
import { argumentsOf, calleeOf, isCall, pathOf, textOf } from '../../trainer/source/syntax.ts';

const openAI = ['openai:OpenAI', 'openai:AsyncOpenAI'];
const liteLLM = ['litellm:completion', 'litellm:acompletion'];

/** The places of a Python function that configure or ask a model. */
export function pythonSites(scope: Scope): Site[] {
  const sites: Site[] = [];
  const add = (site: Site | null): void => { if (site !== null) sites.push(site); };
  const makesModel = (value: SyntaxNode | undefined): boolean => isChatOpenAI(resolvedCall(scope, value));
  for (const call of callsIn(scope)) {
    const path = pathOf(scope.source, calleeOf(call));
    const resolved = resolve(scope.imports, path);
    const service = isAssistantsCall(path) ? 'OpenAI Assistants' : closedService(resolved) ?? serviceOfClient(scope, path);
    if (service !== null) add({ node: call, client: service, isCall: true, prompt: promptOf(scope, call), service, fixed: null, point: () => nothing });
    else if (resolved !== null && openAI.includes(resolved)) add(constructorSite(scope, call, 'OpenAI', openAISettings, ['base_url', 'api_key']));
    else if (isChatOpenAI(resolved)) add(constructorSite(scope, call, 'LangChain', chatOpenAISettings, chatOpenAIAddress));
    else if (resolved !== null && liteLLM.includes(resolved)) add(liteLLMSite(scope, call));
    else add(sdkSite(scope, call, sdk(scope)) ?? httpSite(scope, call) ?? modelCallSite(scope, call, path, makesModel));
  }
  return [...sites, ...moduleModelSites(scope, makesModel, (name, value, llm) => ownModel(scope, name, value, llm))].sort((a, b) => a.node.from - b.node.from);
}

const openAISettings = (llm: string): Setting[] => [{ names: ['base_url'], value: `${llm}.endpoint` }, { names: ['api_key'], value: `${llm}.api_key` }];

const chatOpenAIAddress = ['base_url', 'openai_api_base', 'api_key', 'openai_api_key'];
const chatOpenAISettings = (llm: string): Setting[] => [
  { names: ['model', 'model_name'], value: `${llm}.model` }, { names: ['base_url', 'openai_api_base'], value: `${llm}.endpoint` }, { names: ['api_key', 'openai_api_key'], value: `${llm}.api_key` },
];

const isChatOpenAI = (resolved: string | null): boolean => resolved !== null && resolved.startsWith('langchain') && resolved.endsWith(':ChatOpenAI');

/** What a value calls, by the imports of the file. */
const resolvedCall = (scope: Scope, value: SyntaxNode | undefined): string | null => (value !== undefined && isCall(value) ? resolve(scope.imports, pathOf(scope.source, calleeOf(value))) : null);

function sdk(scope: Scope): Parameters<typeof sdkSite>[2] {
  return {
    isClient: (value) => openAI.includes(resolvedCall(scope, value) ?? ''),
    service: (value) => closedService(resolvedCall(scope, value)),
    // The module itself is a client with defaults; it has no with_options.
    redirect: (base, llm) => (scope.imports.get(textOf(scope.source, base))?.module === 'openai' && scope.imports.get(textOf(scope.source, base))?.name === null
      ? { ...nothing, edits: [{ from: base.to, to: base.to, insert: `.OpenAI(base_url=${llm}.endpoint, api_key=${llm}.api_key)` }] }
      : withOptions(scope, base, llm)),
  };
}

/** The service whose client a call goes through. */
function serviceOfClient(scope: Scope, path: string[] | null): string | null {
  const value = path === null ? undefined : scope.local.get(path[0] ?? '') ?? scope.module.get(path[0] ?? '');
  return path === null || path.length < 2 || value === undefined || !isCall(value) ? null : closedService(resolve(scope.imports, pathOf(scope.source, calleeOf(value))));
}

function liteLLMSite(scope: Scope, call: SyntaxNode): Site {
  const settings = (llm: string): Setting[] => unpointed(scope, call, [
    { names: ['model'], value: `f"openai/{${llm}.model}"` }, { names: ['api_base', 'base_url'], value: `${llm}.endpoint` }, { names: ['api_key'], value: `${llm}.api_key` },
  ]);
  const literal = literalOption(scope, call, ['model', 'api_base', 'base_url', 'api_key']);
  // The model may be the first argument, without its name.
  const positional = argumentsOf(scope.source, call).filter(({ name, spread }) => name === null && !spread)[0]?.value ?? null;
  return {
    node: call, client: 'LiteLLM', isCall: true, prompt: promptOf(scope, call), service: null, fixed: settings('llm').length === 0 || literal === null ? null : literal ?? calleeOf(call),
    point: (llm) => ({
      ...nothing,
      edits: positional === null ? setOptions(scope.source, call, settings(llm))
        : [{ from: positional.from, to: positional.to, insert: `f"openai/{${llm}.model}"` }, ...setOptions(scope.source, call, settings(llm).slice(1))],
    }),
  };
}

/** The function's own copy of a model of the module. */
const ownModel = (scope: Scope, name: string, value: SyntaxNode, llm: string): string =>
  `${name} = ${onOneLine(scope, value, chatOpenAISettings(llm)).replace('( ', '(').replace(', )', ')').replace(' )', ')')}`;
