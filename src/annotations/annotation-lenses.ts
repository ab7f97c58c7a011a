import type { CodeLens, CodeLensProvider, Event, TextDocument } from 'vscode';
import type { AgentFinder } from '../agents/find-agents.ts';
import { commands } from '../ids.ts';
import { agentReference } from '../runs/config-file.ts';
import type { VSCode } from '../vscode.ts';
import { annotationOf, type AnnotationBook } from './annotation-book.ts';
import { agentText, agentTooltip } from './annotation-text.ts';

/** Over each agent: what its latest rollouts came to, and further ways to run it. Nothing in an untrusted workspace. */
export class AnnotationLenses implements CodeLensProvider {
  readonly onDidChangeCodeLenses: Event<void>;
  private readonly vscode: VSCode;
  private readonly finder: AgentFinder;
  private readonly book: AnnotationBook;

  constructor(vscode: VSCode, finder: AgentFinder, book: AnnotationBook) {
    this.vscode = vscode;
    this.finder = finder;
    this.book = book;
    this.onDidChangeCodeLenses = book.changed.event;
  }

  async provideCodeLenses(document: TextDocument): Promise<CodeLens[]> {
    const { CodeLens, Range, l10n, workspace } = this.vscode;
    if (!workspace.isTrusted) return [];
    const known = this.book.of(document.uri);
    const agents = await this.finder.in(document);
    return agents.filter((agent) => agent.kind === 'wrapped').flatMap(({ name, from, to }) => {
      const range = new Range(document.positionAt(from), document.positionAt(to));
      const argument = { file: document.uri.fsPath, name };
      const annotation = known === null ? undefined : annotationOf(known.annotations, agentReference(document.uri.fsPath, name, known.workspace.folder));
      const lens = (title: string, command: string, tooltip: string): CodeLens => new CodeLens(range, { title, command, tooltip, arguments: [argument] });
      return [
        ...(annotation === undefined ? [] : [lens('$(graph-line) ' + agentText(annotation), commands.showLatestRollout, agentTooltip(annotation))]),
        lens('$(beaker) ' + l10n.t('Dry run with…'), commands.dryRunWith, l10n.t('Choose a model and how many tasks to run')),
        lens('$(debug-alt) ' + l10n.t('Debug rollout'), commands.debugRollout, l10n.t('Run one task in the debugger')),
      ];
    });
  }
}
