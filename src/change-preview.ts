import { basename } from 'node:path';
import type { Event, EventEmitter, Tab, TextDocument, TextDocumentContentProvider, Uri } from 'vscode';
import { contexts } from './ids.ts';
import type { VSCode } from './vscode.ts';

export const previewScheme = 'agent-trainer-preview';

/** What a document would become. */
export interface ProposedChange { document: TextDocument; proposed: string }

/**
 * Shows what files would become beside what they are, and asks. The question is a message, which VS Code puts away after a while,
 * so it can also be answered by buttons in the title of the diff.
 */
export class ChangePreview implements TextDocumentContentProvider {
  readonly onDidChange: Event<Uri>;
  private readonly vscode: VSCode;
  private readonly changed: EventEmitter<Uri>;
  private readonly texts = new Map<string, string>();
  private settle: (yes: boolean) => void = () => {};
  /** The question that is open, until its diff is closed. */
  private asking: Promise<unknown> = Promise.resolve();

  constructor(vscode: VSCode) {
    this.vscode = vscode;
    this.changed = new vscode.EventEmitter<Uri>();
    this.onDidChange = this.changed.event;
  }

  provideTextDocumentContent(uri: Uri): string { return this.texts.get(uri.path) ?? ''; }

  /** Answers the question that is open, if one is. */
  answer(yes: boolean): void { this.settle(yes); }

  /** Whether the user wants the changes, all or none. The diff is closed afterwards. A question that is still open is answered by no. */
  ask(changes: readonly ProposedChange[], question: string): Promise<boolean> {
    this.settle(false);
    const answer = this.asking.then(() => this.show(changes, question));
    this.asking = answer.catch(() => undefined);
    return answer;
  }

  private async show(changes: readonly ProposedChange[], question: string): Promise<boolean> {
    const { commands, l10n, window } = this.vscode;
    const [first] = changes;
    if (first === undefined) return false;
    const sides = changes.map(({ document, proposed }) => [document.uri, this.provide(document.uri.with({ scheme: previewScheme, query: '' }), proposed)] as const);
    const title = changes.length === 1 ? l10n.t('{0}: what would change', basename(first.document.fileName)) : l10n.t('What would change');
    if (sides[0] !== undefined && sides.length === 1) await commands.executeCommand('vscode.diff', ...sides[0], title, { preview: true });
    else await commands.executeCommand('vscode.changes', title, sides.map(([original, modified]) => [original, original, modified]));
    const apply = l10n.t('Apply');
    const answered = new Promise<boolean>((resolve) => { this.settle = resolve; });
    await commands.executeCommand('setContext', contexts.previewing, true);
    const asked = window.showInformationMessage(question, apply, l10n.t('Discard')).then((choice) => choice === apply);
    const yes = await Promise.race([asked, answered, this.closing(title)]);
    await commands.executeCommand('setContext', contexts.previewing, false);
    const tabs = this.tabsOf(title);
    if (tabs.length > 0) await window.tabGroups.close(tabs);
    for (const [, { path }] of sides) this.texts.delete(path);
    return yes;
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
  private closing(title: string): Promise<boolean> {
    return new Promise((resolve) => {
      const subscription = this.vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
        if (closed.length === 0 || this.tabsOf(title).length > 0) return;
        subscription.dispose();
        resolve(false);
      });
    });
  }
}
