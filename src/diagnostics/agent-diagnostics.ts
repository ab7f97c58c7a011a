import { setImmediate } from 'node:timers/promises';
import type { CodeAction, CodeActionProvider, Diagnostic, DiagnosticCollection, Range, TextDocument, Uri } from 'vscode';
import type { Log } from '../log.ts';
import type { VSCode } from '../vscode.ts';
import { agentFileExtensions } from '../agents/agent-files.ts';
import type { Checked } from './check.ts';
import type { Finding, Fix } from './finding.ts';

const quietMs = 400;
const sizeLimit = 1 << 18; // larger sources are generated

/**
 * Shows what is wrong with the agents of the documents that are open, and offers the fixes. Works after a pause in typing, in small
 * steps between which the extension host is free, and starts anew when the document changes meanwhile.
 */
export class AgentDiagnostics implements CodeActionProvider {
  private readonly vscode: VSCode;
  private readonly log: Log;
  private readonly shown: DiagnosticCollection;
  private readonly timers = new Map<string, NodeJS.Timeout>();
  private readonly results = new Map<string, { version: number; findings: Finding[]; rows: Checked['rows'] }>();
  private readonly subscriptions: { dispose(): void }[];

  constructor(vscode: VSCode, log: Log) {
    this.vscode = vscode;
    this.log = log;
    this.shown = vscode.languages.createDiagnosticCollection('agent-trainer');
    const { workspace } = vscode;
    const data = workspace.createFileSystemWatcher('**/{agent-trainer.json,*.jsonl}');
    const again = (): void => { for (const document of workspace.textDocuments) this.schedule(document); };
    this.subscriptions = [
      this.shown, data, data.onDidChange(again), data.onDidCreate(again), data.onDidDelete(again),
      workspace.onDidOpenTextDocument((document) => { this.schedule(document); }),
      workspace.onDidChangeTextDocument(({ document }) => { this.schedule(document); }),
      workspace.onDidCloseTextDocument(({ uri }) => { if (this.results.has(uri.toString())) this.forget(uri); }), // a dataset that closes keeps its marks
    ];
    again();
  }

  provideCodeActions(document: TextDocument, range: Range): CodeAction[] {
    const result = this.results.get(document.uri.toString());
    if (result === undefined || result.version !== document.version) return [];
    const [from, to] = [document.offsetAt(range.start), document.offsetAt(range.end)];
    return result.findings.filter((each) => each.from <= to && from <= each.to).flatMap((each) => each.fixes.map((fix) => this.action(document, each, fix)));
  }

  dispose(): void {
    for (const timer of this.timers.values()) clearTimeout(timer);
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private schedule(document: TextDocument): void {
    const key = document.uri.toString();
    if (document.uri.scheme !== 'file' || !agentFileExtensions.some((extension) => document.fileName.endsWith(`.${extension}`))) return;
    clearTimeout(this.timers.get(key));
    this.timers.set(key, setTimeout(() => {
      this.timers.delete(key);
      this.check(document).catch((error: unknown) => { this.log.background(`Checking the agents of ${document.fileName} failed`, error); });
    }, quietMs));
  }

  private async check(document: TextDocument): Promise<void> {
    const { l10n, workspace } = this.vscode;
    const { version } = document;
    const key = document.uri.toString();
    const outdated = (): boolean => document.isClosed || document.version !== version || this.timers.has(key);
    const [{ checkAgents }, { datasetsOf }] = await Promise.all([import('./check.ts'), import('./find-datasets.ts')]);
    const text = document.getText();
    const result = await checkAgents({
      l10n, fileName: document.fileName, text: text.length > sizeLimit ? '' : text,
      dataOf: (agent) => datasetsOf(document.fileName, agent.name, workspace.getWorkspaceFolder(document.uri)?.uri.fsPath ?? null),
      breathe: async () => {
        await setImmediate();
        return outdated();
      },
    });
    if (result === null || outdated()) return;
    this.forget(document.uri);
    this.results.set(key, { version, ...result });
    this.shown.set(document.uri, result.findings.map((each) => this.diagnostic(document, each)));
    for (const { file, findings } of result.rows) await this.showRows(file, findings);
  }

  private async showRows(file: string, findings: Finding[]): Promise<void> {
    const { Uri, workspace } = this.vscode;
    const uri = Uri.file(file);
    if (findings.length === 0) return;
    const document = await workspace.openTextDocument(uri);
    this.shown.set(uri, [...this.shown.get(uri) ?? [], ...findings.map((each) => this.diagnostic(document, each))]);
  }

  private forget(uri: Uri): void {
    for (const { file } of this.results.get(uri.toString())?.rows ?? []) this.shown.delete(this.vscode.Uri.file(file));
    this.results.delete(uri.toString());
    this.shown.delete(uri);
  }

  private diagnostic(document: TextDocument, { rule, severity, from, to, message }: Finding): Diagnostic {
    const { Diagnostic, DiagnosticSeverity, Range } = this.vscode;
    const diagnostic = new Diagnostic(new Range(document.positionAt(from), document.positionAt(to)), message, severity === 'warning' ? DiagnosticSeverity.Warning : DiagnosticSeverity.Information);
    diagnostic.source = 'Agent Trainer';
    diagnostic.code = rule;
    return diagnostic;
  }

  private action(document: TextDocument, found: Finding, { title, edits }: Fix): CodeAction {
    const { CodeAction, CodeActionKind, Range, WorkspaceEdit } = this.vscode;
    const action = new CodeAction(title, CodeActionKind.QuickFix);
    action.edit = new WorkspaceEdit();
    for (const { from, to, insert } of edits) action.edit.replace(document.uri, new Range(document.positionAt(from), document.positionAt(to)), insert);
    action.diagnostics = [this.diagnostic(document, found)];
    action.isPreferred = true;
    return action;
  }
}
