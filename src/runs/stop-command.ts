import { TrainerError } from '../../trainer/protocol/errors.ts';
import { runOf } from './run-nodes.ts';
import { runHeader } from '../views/run-header.ts';
import type { Services } from '../services.ts';
import type { Workspace } from '../workspace.ts';

/** "Stop Run": cancels the run it is called on, else the active one, the user's choice if there are several. */
export async function stopRun(services: Services, argument?: unknown): Promise<void> {
  const { vscode, workspaces } = services;
  const node = runOf(argument);
  if (node !== null) return cancelRun(services, workspaces.at(node.folder), node.run_id);
  await workspaces.attachAll();
  const items = workspaces.all().flatMap((workspace) => workspace.book.active().map((entry) => {
    const { title, statusText } = runHeader(entry.run);
    return { label: title, description: statusText, workspace, run_id: entry.run.run_id };
  }));
  if (items.length === 0) throw new TrainerError('conflict', vscode.l10n.t('No run is active, so there is nothing to stop.'));
  const chosen = items.length === 1 ? items[0] : await vscode.window.showQuickPick(items, { title: vscode.l10n.t('Stop which run?') });
  if (chosen !== undefined) await cancelRun(services, chosen.workspace, chosen.run_id);
}

/** Cancels a run; resolves when its processes are gone. @throws TrainerError */
export async function cancelRun({ vscode }: Services, workspace: Workspace, run_id: string): Promise<void> {
  const client = await workspace.client();
  const run = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: vscode.l10n.t('Stopping the run…') },
    () => client.call('runs.cancel', { run_id }),
  );
  workspace.book.put(run);
}
