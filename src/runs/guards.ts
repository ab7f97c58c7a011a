import type { VSCode } from '../vscode.ts';

/** Whether code of this workspace may run; if not, says why and offers the way out. */
export function mayRun(vscode: VSCode): boolean {
  const { commands, l10n, window, workspace } = vscode;
  if (workspace.isTrusted) return true;
  const manage = l10n.t('Manage trust');
  void window.showWarningMessage(l10n.t('This workspace is not trusted, so no agent of it is run. Trust it to train its agents or to run them.'), manage)
    .then((choice) => (choice === manage ? commands.executeCommand('workbench.trust.manage') : undefined));
  return false;
}

/** Unsaved changes of a file would not be in the run. */
export async function saveIfOpen(vscode: VSCode, path: string): Promise<void> {
  const document = vscode.workspace.textDocuments.find((candidate) => candidate.uri.fsPath === path);
  if (document?.isDirty === true) await document.save();
}
