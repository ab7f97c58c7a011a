import type { CodeLens, CodeLensProvider, Event, TextDocument } from 'vscode';
import { commands } from '../ids.ts';
import type { VSCode } from '../vscode.ts';
import type { WrapArgument } from './wrap-command.ts';

/** "Make trainable" over functions that ask a model and can become agents as they are. */
export class WrapLenses implements CodeLensProvider {
  readonly onDidChangeCodeLenses: Event<void>;
  private readonly vscode: VSCode;

  constructor(vscode: VSCode) {
    this.vscode = vscode;
    this.onDidChangeCodeLenses = vscode.workspace.onDidGrantWorkspaceTrust;
  }

  async provideCodeLenses(document: TextDocument): Promise<CodeLens[]> {
    const { CodeLens, l10n, Range, workspace } = this.vscode;
    if (!workspace.isTrusted) return [];
    const { candidatesIn } = await import('./candidates.ts');
    return candidatesIn(document).filter(({ direct }) => direct).flatMap(({ target, plan }) => {
      if (plan(l10n).kind === 'refusal') return [];
      const at = document.positionAt(target.at.from);
      const argument: WrapArgument = { uri: document.uri.toString(), line: at.line, name: target.name };
      return [new CodeLens(new Range(at, document.positionAt(target.at.to)), {
        title: '$(sparkle) ' + l10n.t('Make trainable'), command: commands.makeTrainable, arguments: [argument],
        tooltip: l10n.t('Mark this function as an agent, so that it can be dry-run, tuned and trained'),
      })];
    });
  }
}
