import type { ExtensionContext, TextDocument, TextEditor, TextEditorDecorationType } from 'vscode';
import { agentFileExtensions } from '../agents/agent-files.ts';
import { agentReference } from '../runs/config-file.ts';
import { coalesce } from '../panels/coalesce.ts';
import type { VSCode } from '../vscode.ts';
import type { AnnotationBook, Known } from './annotation-book.ts';
import { failedHover, rewardHover, rewardText } from './annotation-text.ts';
import { lineMarks } from './line-marks.ts';
import type { LineMarks } from './line-marks.ts';

const drawMs = 100;

/** Rewards behind the lines that yield them, and marks beside the lines whose LLM calls failed. */
export class LineDecorations {
  private readonly vscode: VSCode;
  private readonly book: AnnotationBook;
  private readonly rewards: TextEditorDecorationType;
  private readonly failures: TextEditorDecorationType;
  private readonly drawn = new WeakSet<TextEditor>();
  private readonly subscriptions: { dispose(): void }[];

  constructor(vscode: VSCode, book: AnnotationBook, { extensionUri }: Pick<ExtensionContext, 'extensionUri'>) {
    const { ThemeColor, OverviewRulerLane, Uri, window, workspace } = vscode;
    this.vscode = vscode;
    this.book = book;
    this.rewards = window.createTextEditorDecorationType({ after: { color: new ThemeColor('editorCodeLens.foreground'), margin: '0 0 0 2em' } });
    const icon = (theme: string) => ({ gutterIconPath: Uri.joinPath(extensionUri, 'media', `failed-call-${theme}.svg`) });
    this.failures = window.createTextEditorDecorationType({
      light: icon('light'), dark: icon('dark'), gutterIconSize: 'contain',
      overviewRulerColor: new ThemeColor('editorOverviewRuler.errorForeground'), overviewRulerLane: OverviewRulerLane.Left,
    });
    const draw = coalesce(() => { for (const editor of window.visibleTextEditors) void this.draw(editor); }, drawMs);
    this.subscriptions = [this.rewards, this.failures, draw, book.changed.event(draw), window.onDidChangeVisibleTextEditors(draw), workspace.onDidSaveTextDocument(draw)];
    draw();
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private async draw(editor: TextEditor): Promise<void> {
    const { document } = editor;
    if (!agentFileExtensions.some((extension) => document.fileName.endsWith(`.${extension}`))) return;
    const known = this.book.of(document.uri);
    // Runs knew the file as it was saved; until it is saved again the marks move with the text.
    if (known !== null && document.isDirty && this.drawn.has(editor)) return;
    const marks = known === null ? { rewards: [], failures: [] } : await marksOf(known, document);
    editor.setDecorations(this.rewards, marks.rewards.map(({ line, rewards }) => ({
      range: document.lineAt(line).range, hoverMessage: rewardHover(rewards), renderOptions: { after: { contentText: rewardText(rewards) } },
    })));
    editor.setDecorations(this.failures, marks.failures.map((failure) => ({ range: document.lineAt(failure.at).range, hoverMessage: this.plain(failedHover(failure)) })));
    if (known !== null) this.drawn.add(editor);
  }

  /** A server's message is text, not Markdown. */
  private plain(text: string): InstanceType<VSCode['MarkdownString']> {
    return new this.vscode.MarkdownString().appendText(text);
  }
}

async function marksOf({ annotations, workspace }: Known, document: TextDocument): Promise<LineMarks> {
  const { rewardPlaces } = await import('./reward-lines.ts');
  const file = document.uri.fsPath;
  return lineMarks(annotations, file, document.lineCount, rewardPlaces(document.fileName, document.getText()), (agent) => agentReference(file, agent, workspace.folder));
}
