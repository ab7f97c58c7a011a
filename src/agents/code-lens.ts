import type { CodeLens, CodeLensProvider, Event, TextDocument } from 'vscode';
import { commands } from '../ids.ts';
import type { VSCode } from '../vscode.ts';
import type { AgentFinder } from './find-agents.ts';

/** What a lens hands its command. */
export interface AgentArgument { file: string; name: string }

/** "Dry run" and "Train" over each agent; in an untrusted workspace one lens that says why there is neither. */
export class AgentLenses implements CodeLensProvider {
  readonly onDidChangeCodeLenses: Event<void>;
  private readonly vscode: VSCode;

  private readonly finder: AgentFinder;

  constructor(vscode: VSCode, finder: AgentFinder) {
    this.vscode = vscode;
    this.finder = finder;
    this.onDidChangeCodeLenses = vscode.workspace.onDidGrantWorkspaceTrust;
  }

  async provideCodeLenses(document: TextDocument): Promise<CodeLens[]> {
    const { l10n, Range, workspace } = this.vscode;
    const agents = await this.finder.in(document);
    return agents.filter((agent) => agent.kind === 'wrapped').flatMap((agent) => {
      const range = new Range(document.positionAt(agent.from), document.positionAt(agent.to));
      if (!workspace.isTrusted) return [this.lens(range, '$(shield) ' + l10n.t('Trust this workspace to run this agent'), 'workbench.trust.manage')];
      const argument: AgentArgument = { file: document.uri.fsPath, name: agent.name };
      return [
        this.lens(range, '$(play) ' + l10n.t('Dry run'), commands.dryRun, argument, l10n.t('Run this agent on a few tasks and see what it did')),
        this.lens(range, '$(rocket) ' + l10n.t('Train'), commands.train, argument, l10n.t('Train the model behind this agent by reinforcement learning')),
      ];
    });
  }

  private lens(range: CodeLens['range'], title: string, command: string, argument?: AgentArgument, tooltip?: string): CodeLens {
    return new this.vscode.CodeLens(range, { title, command, tooltip, arguments: argument === undefined ? [] : [argument] });
  }
}
