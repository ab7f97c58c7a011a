import { TrainerError } from '../../trainer/protocol/errors.ts';
import { mayRun } from '../runs/guards.ts';
import type { Services } from '../services.ts';
import { showCapabilities } from './capability-step.ts';
import { enterEndpoint } from './pick-model.ts';

/** "Check Endpoint": what a model server can do, as a table. */
export async function checkEndpoint(services: Services): Promise<void> {
  const { vscode, workspaces } = services;
  if (!mayRun(vscode)) return;
  const folder = vscode.workspace.workspaceFolders?.[0];
  if (folder === undefined) throw new TrainerError('not_found', vscode.l10n.t('No folder is open. Open the folder of your agent first.'));
  const workspace = workspaces.at(folder.uri.fsPath);
  const known = await enterEndpoint(services, workspace);
  if (known === undefined) return;
  await services.endpoints.remember(known.endpoint);
  await showCapabilities(services, known.capabilities);
}
