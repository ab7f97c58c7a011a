import type { SyntaxNode } from '@lezer/common';
import type { Edit } from './edits.ts';
import { httpSite } from './http-sites.ts';
import { resolve } from './imports.ts';
import { modelCallSite, moduleModelSites, onOneLine } from './langchain-sites.ts';
import type { Setting } from './options.ts';
import { callsIn, constructorSite, isPointed, promptOf, sdkSite, withOptions } from './sdk-call.ts';
import { closedService, isAssistantsCall } from './services.ts';
import type { Scope, Site } from './sites.ts';
import { nothing } from './sites.ts';
import { argumentsOf, calleeOf, isCall, pathOf } from '../../trainer/source/syntax.ts';

const openAI = ['openai:default', 'openai:OpenAI', 'openai:'];

/** The places of a TypeScript or JavaScript function that configure or ask a model. */
export function scriptSites(scope: Scope): Site[] {
  const sites: Site[] = [];
  const add = (site: Site | null): void => { if (site !== null) sites.push(site); };
  const makesModel = (value: SyntaxNode | undefined): boolean => isChatOpenAI(resolvedCall(scope, value));
  for (const call of callsIn(scope)) {
    const path = pathOf(scope.source, calleeOf(call));
    const resolved = resolve(scope.imports, path);
    const service = isAssistantsCall(path) ? 'OpenAI Assistants' : closedService(resolved) ?? serviceOfClient(scope, path);
    if (service !== null) add({ node: call, client: service, isCall: true, prompt: promptOf(scope, call), service, fixed: null, point: () => nothing });
    else if (call.name === 'NewExpression' && openAI.includes(resolved ?? '')) add(constructorSite(scope, call, 'OpenAI', openAISettings, ['baseURL', 'apiKey']));
    else if (call.name === 'NewExpression' && isChatOpenAI(resolved)) add(constructorSite(scope, call, 'LangChain', chatOpenAISettings, ['configuration', 'apiKey', 'openAIApiKey']));
    else if (resolved === '@ai-sdk/openai:createOpenAI') add(constructorSite(scope, call, 'Vercel AI SDK', openAISettings, ['baseURL', 'apiKey']));
    else if (generators.includes(resolved ?? '')) add(generatorSite(scope, call));
    else add(sdkSite(scope, call, sdk(scope)) ?? providerSite(scope, call, path) ?? httpSite(scope, call) ?? modelCallSite(scope, call, path, makesModel));
  }
  return [...sites, ...moduleModelSites(scope, makesModel, (name, value, llm) => ownModel(scope, name, value, llm))].sort((a, b) => a.node.from - b.node.from);
}

const openAISettings = (llm: string): Setting[] => [{ names: ['baseURL'], value: `${llm}.endpoint` }, { names: ['apiKey'], value: `${llm}.api_key` }];
const chatOpenAISettings = (llm: string): Setting[] => [
  { names: ['model', 'modelName'], value: `${llm}.model` }, { names: ['apiKey', 'openAIApiKey'], value: `${llm}.api_key` }, { names: ['configuration'], value: `{ baseURL: ${llm}.endpoint }` },
];
const isChatOpenAI = (resolved: string | null): boolean => resolved === '@langchain/openai:ChatOpenAI' || resolved?.startsWith('langchain/') === true && resolved.endsWith(':ChatOpenAI');

function resolvedCall(scope: Scope, value: SyntaxNode | undefined): string | null {
  return value !== undefined && isCall(value) ? resolve(scope.imports, pathOf(scope.source, calleeOf(value))) : null;
}

function sdk(scope: Scope): Parameters<typeof sdkSite>[2] {
  return {
    isClient: (value) => value?.name === 'NewExpression' && openAI.includes(resolvedCall(scope, value) ?? ''),
    service: (value) => closedService(resolvedCall(scope, value)),
    redirect: (base, llm) => withOptions(scope, base, llm),
  };
}

function serviceOfClient(scope: Scope, path: string[] | null): string | null {
  const start = path?.[0] ?? '';
  return path === null || path.length < 2 ? null : closedService(resolvedCall(scope, scope.local.get(start) ?? scope.module.get(start)));
}

const generators = ['ai:generateText', 'ai:streamText', 'ai:generateObject', 'ai:streamObject'];

/** `generateText({ model, prompt })` of the Vercel AI SDK; which model it is, the provider inside says. */
function generatorSite(scope: Scope, call: SyntaxNode): Site {
  return { node: call, client: 'Vercel AI SDK', isCall: true, prompt: promptOf(scope, call), service: null, fixed: null, point: () => nothing };
}

/** `openai('gpt-4o')`, `openai.chat('gpt-4o')`: a model of the Vercel AI SDK's provider. */
function providerSite(scope: Scope, call: SyntaxNode, path: string[] | null): Site | null {
  const provider = path?.[0] ?? '';
  const isDefault = scope.imports.get(provider)?.module === '@ai-sdk/openai' && scope.imports.get(provider)?.name === 'openai';
  const local = scope.local.get(provider);
  const isMade = (value: SyntaxNode | undefined): boolean => resolvedCall(scope, value) === '@ai-sdk/openai:createOpenAI';
  const madeHere = isMade(local);
  const [model] = argumentsOf(scope.source, call);
  if (path === null || path.length > 2 || !(isDefault || madeHere || isMade(scope.module.get(provider))) || !['chat', 'responses', 'completion', provider].includes(path.at(-1) ?? '')) return null;
  const callee = calleeOf(call);
  if (callee === null || model?.value === null || model?.value === undefined || isPointed(scope, model.value)) return null;
  const { value } = model;
  // The gateway speaks chat completions; a provider called directly may choose another API.
  const edits = (llm: string): Edit[] => [
    { from: callee.from, to: callee.to, insert: madeHere ? `${provider}.chat` : `createOpenAI({ baseURL: ${llm}.endpoint, apiKey: ${llm}.api_key }).chat` },
    { from: value.from, to: value.to, insert: `${llm}.model` },
  ];
  return { node: call, client: 'Vercel AI SDK', isCall: false, prompt: [], service: null, fixed: value, point: (llm) => ({ ...nothing, edits: edits(llm), imports: madeHere ? [] : [{ module: '@ai-sdk/openai', name: 'createOpenAI' }] }) };
}

/** The function's own copy of a model of the module. */
const ownModel = (scope: Scope, name: string, value: SyntaxNode, llm: string): string => `const ${name} = ${onOneLine(scope, value, chatOpenAISettings(llm)).replace(', })', ' })')}`;
