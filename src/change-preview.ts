import { basename } from 'node:path';
import type { Event, EventEmitter, Tab, TextDocument, TextDocumentContentProvider, Uri } from 'vscode';
import type { VSCode } from './vscode.ts';

export const previewScheme = 'agent-trainer-preview';

/** What a document would become. */
export interface ProposedChange { document: TextDocument; proposed: string }

/** Shows what files would become beside what they are, and asks. */
export class ChangePreview implements TextDocumentContentProvider {
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

  /** Whether the user wants the changes, all or none. The diff is closed afterwards. */
  async ask(changes: readonly ProposedChange[], question: string): Promise<boolean> {
    const { commands, l10n, window } = this.vscode;
    const [first] = changes;
    if (first === undefined) return false;
    const sides = changes.map(({ document, proposed }) => [document.uri, this.provide(document.uri.with({ scheme: previewScheme, query: '' }), proposed)] as const);
    const title = changes.length === 1 ? l10n.t('{0}: what would change', basename(first.document.fileName)) : l10n.t('What would change');
    if (sides[0] !== undefined && sides.length === 1) await commands.executeCommand('vscode.diff', ...sides[0], title, { preview: true });
    else await commands.executeCommand('vscode.changes', title, sides.map(([original, modified]) => [original, original, modified]));
    const apply = l10n.t('Apply');
    const choice = await Promise.race([window.showInformationMessage(question, apply, l10n.t('Discard')), this.closing(title)]);
    const tabs = this.tabsOf(title);
    if (tabs.length > 0) await window.tabGroups.close(tabs);
    for (const [, { path }] of sides) this.texts.delete(path);
    return choice === apply;
  }

  /** Two texts beside each other, of which neither can be edited. */
  async compare(name: string, title: string, before: string, after: string): Promise<void> {
    const uri = (side: string, text: string): Uri => this.provide(this.vscode.Uri.from({ scheme: previewScheme, path: `/${side}/${name}` }), text);
    await this.vscode.commands.executeCommand('vscode.diff', uri('before', before), uri('after', after), title, { preview: true });
  }

  private provide(uri: Uri, text: string): Uri {
    this.texts.set(uri.path, text);
    this.changed.fire(uri);
    return uri;
  }

  private tabsOf(title: string): Tab[] {
    return this.vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs).filter(({ label }) => label.startsWith(title)); // of several files VS Code adds how many
  }

  /** Closing the diff is an answer too. */
  private closing(title: string): Promise<undefined> {
    return new Promise((resolve) => {
      const subscription = this.vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
        if (closed.length === 0 || this.tabsOf(title).length > 0) return;
        subscription.dispose();
        resolve(undefined);
      });
    });
  }
}
