import type { EndpointCapabilities } from '../../trainer/protocol/endpoints.ts';
import type { Services } from '../services.ts';
import type { Workspace } from '../workspace.ts';
import { capabilityMeaning, capabilityRows } from './capability-view.ts';
import type { Endpoint } from './endpoints.ts';

/** Asks an endpoint what it can do, telling the user that one waits. @throws TrainerError */
export async function probe(services: Services, workspace: Workspace, endpoint: Endpoint, refresh = false): Promise<EndpointCapabilities> {
  const { vscode, endpoints } = services;
  const client = await services.whileStarting(workspace, () => workspace.client());
  const key = await endpoints.key(endpoint.url);
  const request = { url: endpoint.url, refresh, ...(endpoint.name === undefined ? {} : { name: endpoint.name }), ...(key === undefined ? {} : { api_key: key }) };
  const title = vscode.l10n.t('Asking {0} what it can do…', endpoint.url);
  return vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title }, () => client.call('models.probe', request));
}

/** Shows the table of an endpoint. Resolves with whether to go on with it; `proceed` names that, and is absent when there is nothing to go on with. */
export async function showCapabilities(services: Services, capabilities: EndpointCapabilities, proceed?: string): Promise<boolean> {
  const { vscode } = services;
  const rows = capabilityRows(capabilities).map(({ icon, name, answer, detail }) => ({ label: `$(${icon}) ${name}`, description: answer, detail, go: false }));
  const going = proceed !== undefined && capabilities.chat.state === 'yes' ? [{ label: `$(play) ${proceed}`, description: capabilities.model, detail: capabilityMeaning(capabilities), go: true }] : [];
  const picked = await vscode.window.showQuickPick([...going, ...rows], {
    title: vscode.l10n.t('What {0} can do', capabilities.url), placeHolder: capabilityMeaning(capabilities), ignoreFocusOut: true,
  });
  return picked?.go === true;
}
