import type { Services } from '../services.ts';
import { chosenRun } from './pick-run.ts';
import { showRun } from './show-run.ts';

/** "Open Run": in the panel of its kind. */
export async function openRun(services: Services, argument: unknown): Promise<void> {
  const { l10n } = services.vscode;
  const chosen = await chosenRun(services, argument, l10n.t('Open which run?'), () => true, l10n.t('There is no run to open yet. Start a dry run of an agent first.'));
  if (chosen === undefined) return;
  await showRun(services, chosen.workspace, chosen.run_id);
}

/** "Reveal Checkpoint": its folder in the system's file manager. */
export async function revealCheckpoint({ vscode }: Services, argument: unknown): Promise<void> {
  const path = typeof argument === 'object' && argument !== null && 'path' in argument ? argument.path : null;
  if (typeof path === 'string') await vscode.commands.executeCommand('revealFileInOS', vscode.Uri.file(path));
}

/** "Copy Path of Checkpoint". */
export async function copyCheckpointPath({ vscode }: Services, argument: unknown): Promise<void> {
  const path = typeof argument === 'object' && argument !== null && 'path' in argument ? argument.path : null;
  if (typeof path === 'string') await vscode.env.clipboard.writeText(path);
}
