import type { ChosenModel, EndpointCapabilities } from '../../trainer/protocol/endpoints.ts';
import { mostEditorTasks } from '../../trainer/protocol/endpoints.ts';
import type { Services } from '../services.ts';
import type { Workspace } from '../workspace.ts';
import { probe, showCapabilities } from './capability-step.ts';
import type { Endpoint } from './endpoints.ts';

/** `configured`: what the nearest agent-trainer.json names. */
export type PickedModel = { kind: 'configured' } | ChosenModel;

type Choice = { kind: 'configured' } | { kind: 'endpoint'; endpoint: Endpoint } | { kind: 'editor'; id: string; name: string } | { kind: 'enter' };

export interface PickModelOptions {
  /** What the choice that is there anyway says; null: there is none. */
  configured: string | null;
  proceed: string;
  /** `many-rollouts`: answers the agent more often than the terms of the editor's models allow. */
  role?: 'agent' | 'many-rollouts' | 'optimizer';
}

/** The model that shall answer, as the user chooses it. undefined: none chosen. @throws TrainerError when it does not answer */
export async function pickModel(services: Services, workspace: Workspace, options: PickModelOptions): Promise<PickedModel | undefined> {
  const { vscode } = services;
  const items = choices(services, workspace, options);
  const choice = (await vscode.window.showQuickPick(items, { title: options.role === 'optimizer' ? vscode.l10n.t('Which model should rewrite the prompts?') : vscode.l10n.t('Which model should answer the agent?'), matchOnDescription: true, ignoreFocusOut: true }))?.choice;
  if (choice === undefined || choice.kind === 'configured' || choice.kind === 'editor') return choice;
  const known = choice.kind === 'enter' ? await enterEndpoint(services, workspace) : { endpoint: choice.endpoint, capabilities: await probe(services, workspace, choice.endpoint) };
  if (known === undefined) return undefined;
  const { endpoint, capabilities } = known;
  if (!await showCapabilities(services, capabilities, options.proceed)) return undefined;
  await services.endpoints.remember(endpoint);
  const api_key = await services.endpoints.key(endpoint.url);
  return { kind: 'endpoint', url: endpoint.url, name: capabilities.model, ...(api_key === undefined ? {} : { api_key }) };
}

interface Item { label: string; description: string; detail?: string; choice: Choice }

async function choices({ vscode, endpoints, log }: Services, workspace: Workspace, { configured, role = 'agent' }: PickModelOptions): Promise<Item[]> {
  const { l10n, lm } = vscode;
  const [servers, models] = await Promise.all([
    workspace.client().then((client) => client.call('models.discover', {})),
    role === 'many-rollouts' ? [] : Promise.resolve(lm.selectChatModels()).catch((error: unknown) => { log.background('The models of the editor could not be listed', error); return []; }),
  ]);
  const found = servers.flatMap(({ name, url, models: names }) => names.map((model): Item => ({ label: `$(server) ${model}`, description: l10n.t('{0} on this machine', name), choice: { kind: 'endpoint', endpoint: { url, name: model } } })));
  const urls = new Set(servers.map(({ url }) => url));
  return [
    ...(configured === null ? [] : [{ label: '$(home) ' + (role === 'optimizer' ? l10n.t('The agent’s own model') : l10n.t('Model of agent-trainer.json')), description: configured, choice: { kind: 'configured' } } satisfies Item]),
    ...found,
    ...endpoints.list().filter(({ url }) => !urls.has(url)).map((endpoint): Item => ({ label: `$(globe) ${endpoint.name ?? endpoint.url}`, description: endpoint.name === undefined ? '' : endpoint.url, choice: { kind: 'endpoint', endpoint } })),
    ...models.map((model): Item => ({ label: `$(comment-discussion) ${model.name}`, description: l10n.t('{0}, through VS Code', model.vendor), detail: role === 'optimizer' ? l10n.t('Only criticises and rewrites') : l10n.t('For at most {0} tasks at a time', mostEditorTasks), choice: { kind: 'editor', id: model.id, name: model.name } })),
    { label: '$(add) ' + l10n.t('Enter an endpoint…'), description: l10n.t('Any OpenAI-compatible server'), choice: { kind: 'enter' } },
  ];
}

/** URL, key and model of a server, and what it can do. undefined: given up. */
export async function enterEndpoint(services: Services, workspace: Workspace): Promise<{ endpoint: Endpoint; capabilities: EndpointCapabilities } | undefined> {
  const { vscode, endpoints } = services;
  const { l10n, window } = vscode;
  const url = (await window.showInputBox({
    title: l10n.t('Endpoint'), prompt: l10n.t('The base URL of an OpenAI-compatible server, as a rule ending in /v1'), placeHolder: 'http://127.0.0.1:8000/v1', ignoreFocusOut: true,
    validateInput: (text) => (/^https?:\/\/\S+$/.test(text.trim()) ? null : l10n.t('A URL that starts with http:// or https://')),
  }))?.trim();
  if (url === undefined) return undefined;
  const key = await window.showInputBox({ title: l10n.t('Key of {0}', url), prompt: l10n.t('Kept in the secret storage of VS Code. Leave it empty if the server needs none.'), password: true, ignoreFocusOut: true });
  if (key === undefined) return undefined;
  await endpoints.setKey(url, key.trim());
  const capabilities = await probe(services, workspace, { url, name: undefined }, true);
  const { models, model } = capabilities;
  if (models.length < 2) return { endpoint: { url, name: model }, capabilities };
  const name = await window.showQuickPick(models, { title: l10n.t('Which model of {0}?', url), ignoreFocusOut: true });
  if (name === undefined) return undefined;
  return { endpoint: { url, name }, capabilities: await probe(services, workspace, { url, name }) };
}
