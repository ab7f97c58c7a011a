import { basename } from 'node:path';
import type { Event, EventEmitter, TextDocument, TextDocumentContentProvider, Uri } from 'vscode';
import type { VSCode } from '../vscode.ts';

export const previewScheme = 'agent-trainer-preview';

/** Shows what a file would become beside what it is, and asks. */
export class WrapPreview implements TextDocumentContentProvider {
  readonly onDidChange: Event<Uri>;
  private readonly vscode: VSCode;
  private readonly changed: EventEmitter<Uri>;
  private readonly texts = new Map<string, string>();

  constructor(vscode: VSCode) {
    this.vscode = vscode;
    this.changed = new vscode.EventEmitter<Uri>();
    this.onDidChange = this.changed.event;
  }

  provideTextDocumentContent(uri: Uri): string { return this.texts.get(uri.path) ?? ''; }

  /** Whether the user wants the change. The diff is closed afterwards. */
  async ask(document: TextDocument, proposed: string, question: string): Promise<boolean> {
    const { commands, l10n, window } = this.vscode;
    const uri = document.uri.with({ scheme: previewScheme, query: '' });
    this.texts.set(uri.path, proposed);
    this.changed.fire(uri);
    await commands.executeCommand('vscode.diff', document.uri, uri, l10n.t('{0}: what would change', basename(document.fileName)), { preview: true });
    const apply = l10n.t('Apply');
    const discard = l10n.t('Discard');
    const choice = await Promise.race([window.showInformationMessage(question, apply, discard), this.closing(uri)]);
    await this.close(uri);
    this.texts.delete(uri.path);
    return choice === apply;
  }

  private tabsOf(uri: Uri) {
    const { TabInputTextDiff, window } = this.vscode;
    return window.tabGroups.all.flatMap(({ tabs }) => tabs).filter(({ input }) => input instanceof TabInputTextDiff && input.modified.toString() === uri.toString());
  }

  /** Closing the diff is an answer too. */
  private closing(uri: Uri): Promise<undefined> {
    return new Promise((resolve) => {
      const subscription = this.vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
        if (closed.length === 0 || this.tabsOf(uri).length > 0) return;
        subscription.dispose();
        resolve(undefined);
      });
    });
  }

  private async close(uri: Uri): Promise<void> {
    const tabs = this.tabsOf(uri);
    if (tabs.length > 0) await this.vscode.window.tabGroups.close(tabs);
  }
}
