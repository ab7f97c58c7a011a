import type { ExtensionContext } from 'vscode';
import { commands, contexts, views } from './ids.ts';
import type { VSCode } from './vscode.ts';

/** Whether the files of the window are on no machine that programs could run on, as those of a repository opened without cloning it. */
export function isVirtual({ workspace: { workspaceFolders = [] } }: VSCode): boolean {
  return workspaceFolders.length > 0 && workspaceFolders.every(({ uri }) => uri.scheme !== 'file');
}

/** In place of the extension, where it cannot work: every command says why, and so do the views. Nothing is shown before that. */
export function explainOnUse(vscode: VSCode, context: Pick<ExtensionContext, 'subscriptions'>): void {
  const explain = (): void => {
    void vscode.window.showInformationMessage(vscode.l10n.t('Agents are programs, and this window has no machine to run them on. Open the folder in VS Code on the desktop, or in a window that is connected to a server, a container or a codespace.'));
  };
  void vscode.commands.executeCommand('setContext', contexts.unsupported, true);
  const empty = { getChildren: () => [], getTreeItem: (element: never) => element };
  context.subscriptions.push(
    ...Object.values(commands).map((id) => vscode.commands.registerCommand(id, explain)),
    ...Object.values(views).map((id) => vscode.window.registerTreeDataProvider(id, empty)),
  );
}
