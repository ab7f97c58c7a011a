import type { Services } from '../services.ts';
import { chosenRun } from './pick-run.ts';

/** "Open Run": a training run in the training panel, others as traces. */
export async function openRun(services: Services, argument: unknown): Promise<void> {
  const { l10n } = services.vscode;
  const chosen = await chosenRun(services, argument, l10n.t('Open which run?'), () => true, l10n.t('There is no run to open yet. Start a dry run of an agent first.'));
  if (chosen === undefined) return;
  const { workspace, run_id } = chosen;
  if (workspace.book.entries.get(run_id)?.run.kind === 'train') services.training.show(workspace, run_id);
  else await services.trace.show(workspace, run_id, null);
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
