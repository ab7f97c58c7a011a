import { TrainerError } from '../../trainer/protocol/errors.ts';
import type { Services } from '../services.ts';
import { runHeader } from '../views/run-header.ts';
import type { Workspace } from '../workspace.ts';

/** "Open Training Panel": on the active training run, else the latest. */
export async function openTraining(services: Services): Promise<void> {
  const workspace = await currentWorkspace(services);
  services.training.show(workspace, workspace.book.active().find((entry) => entry.run.kind === 'train')?.run.run_id ?? null);
}

/** "Open Trace": of the active dry run, else of a run the user chooses. */
export async function openTrace(services: Services): Promise<void> {
  const { vscode } = services;
  const workspace = await currentWorkspace(services);
  if (vscode.workspace.isTrusted) await services.whileStarting(workspace, () => workspace.client());
  const runs = workspace.book.list();
  if (runs.length === 0) throw new TrainerError('not_found', vscode.l10n.t('There is no run to show yet. Start a dry run of an agent first.'));
  const active = workspace.book.active().find((entry) => entry.run.kind !== 'train');
  const items = runs.map(({ run }) => ({ label: runHeader(run).title, description: new Date(run.create_time * 1000).toLocaleString(), detail: runHeader(run).statusText, run_id: run.run_id }));
  const run_id = active?.run.run_id ?? (items.length === 1 ? items[0] : await vscode.window.showQuickPick(items, { title: vscode.l10n.t('Trace of which run?') }))?.run_id;
  if (run_id !== undefined) await services.trace.show(workspace, run_id, null);
}

/** The workspace with an active run, else that of the active editor, else the first folder. Connects to its trainer if that is alive. */
async function currentWorkspace({ vscode, workspaces }: Services): Promise<Workspace> {
  await workspaces.attachAll();
  const active = workspaces.all().find((workspace) => workspace.book.active().length > 0);
  if (active !== undefined) return active;
  const document = vscode.window.activeTextEditor?.document;
  if (document?.uri.scheme === 'file') return workspaces.of(document.uri);
  const folder = vscode.workspace.workspaceFolders?.[0];
  if (folder === undefined) throw new TrainerError('not_found', vscode.l10n.t('No folder is open. Open the folder of your agent first.'));
  return workspaces.at(folder.uri.fsPath);
}
