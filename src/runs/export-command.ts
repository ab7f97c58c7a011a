import { join } from 'node:path';
import type { Services } from '../services.ts';
import { chosenRun } from './pick-run.ts';

/** "Export Run": writes record, metrics and traces of a run into a folder the user chooses. */
export async function exportRun(services: Services, argument: unknown): Promise<void> {
  const { vscode } = services;
  const { commands, l10n, window, Uri } = vscode;
  const chosen = await chosenRun(services, argument, l10n.t('Export which run?'), () => true, l10n.t('There is no run to export yet.'));
  if (chosen === undefined) return;
  const [parent] = await window.showOpenDialog({
    title: l10n.t('Export the run into which folder?'), openLabel: l10n.t('Export here'), canSelectFiles: false, canSelectFolders: true, defaultUri: Uri.file(chosen.workspace.folder),
  }) ?? [];
  if (parent === undefined) return;
  const client = await chosen.workspace.client();
  const { folder, files } = await window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: l10n.t('Exporting the run…') },
    () => client.call('runs.export', { run_id: chosen.run_id, folder: join(parent.fsPath, chosen.run_id) }),
  );
  const reveal = l10n.t('Show in explorer');
  const choice = await window.showInformationMessage(l10n.t('Exported to {0}: {1}.', folder, files.join(', ')), reveal);
  if (choice === reveal) await commands.executeCommand('revealFileInOS', Uri.file(folder));
}
