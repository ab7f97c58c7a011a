import { basename, sep } from 'node:path';
import type { Disposable, TextDocument, Uri } from 'vscode';
import type { Log } from '../log.ts';
import { coalesce } from '../panels/coalesce.ts';
import { TrainerError } from '../../trainer/protocol/errors.ts';
import type { VSCode } from '../vscode.ts';
import { isAgentFile } from './agent-files.ts';
import type { DetectedAgent } from './detect.ts';
import type { AgentReader } from './scan/agent-reader.ts';
import type { Change, FileAgents, ScanFolder } from './scan/protocol.ts';

/** An agent of the workspace and the file it is in. */
export interface WorkspaceAgent extends DetectedAgent { file: Uri }

const settleMs = 250;
/** More files than this changed at once (a checkout, an installation): looking at all of them again is simpler, and unchanged ones cost little. */
const manyChanges = 500;

/**
 * Knows the agents of all workspace folders: one scan at the start, then what each edit and each event of the file system
 * changes. A scan that is asked for while one runs cancels that one. Sources are read in AgentReader's thread.
 */
export class AgentFinder implements Disposable {
  private readonly vscode: VSCode;
  private readonly reader: AgentReader;
  private readonly log: Log;
  private byPath = new Map<string, WorkspaceAgent[]>();
  private readonly listeners = new Set<() => void>();
  private readonly subscriptions: Disposable[] = [];
  private readonly changed = new Set<string>();
  private readonly flush = coalesce(() => { this.lookAtChanges(); }, settleMs);
  /** Scans and looks, one after another: an answer never meets a newer one. */
  private queue: Promise<unknown> = Promise.resolve();
  private scanning: { result: Promise<WorkspaceAgent[]>; abort: AbortController } | null = null;

  constructor(vscode: VSCode, reader: AgentReader, log: Log) {
    this.vscode = vscode;
    this.reader = reader;
    this.log = log;
  }

  /** All that was found, by file and line. */
  all(): WorkspaceAgent[] {
    return [...this.byPath.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, agents]) => agents);
  }

  /** What can be run and trained. */
  wrapped(): WorkspaceAgent[] {
    return this.all().filter((agent) => agent.kind === 'wrapped');
  }

  /** The agents of a document as it is in the editor now. */
  in(document: TextDocument): Promise<DetectedAgent[]> {
    return this.reader.read(document.fileName, document.getText());
  }

  /** Called when the agents have changed. */
  onChanged(listener: () => void): Disposable {
    this.listeners.add(listener);
    return { dispose: () => { this.listeners.delete(listener); } };
  }

  /** Scans, and follows edits, files, folders and settings from now on. */
  start(): void {
    const { workspace } = this.vscode;
    const watcher = workspace.createFileSystemWatcher('**/*');
    const noted = (uri: Uri): void => { this.note(uri.fsPath); };
    this.subscriptions.push(
      watcher,
      watcher.onDidCreate(noted), // a folder that was moved in, too
      watcher.onDidDelete(noted), // of a folder that is removed there is one event, not one for each file
      watcher.onDidChange((uri) => { if (isAgentFile(uri.path) || isIgnoreFile(uri.path)) noted(uri); }),
      workspace.onDidChangeTextDocument(({ document }) => { if (document.uri.scheme === 'file' && isAgentFile(document.fileName)) noted(document.uri); }),
      workspace.onDidCloseTextDocument((document) => { if (document.uri.scheme === 'file' && isAgentFile(document.fileName)) noted(document.uri); }),
      workspace.onDidChangeWorkspaceFolders(() => { this.rescan(); }),
      workspace.onDidChangeConfiguration((event) => { if (event.affectsConfiguration('files.exclude')) this.rescan(); }),
    );
    this.rescan();
  }

  /** The agents after a scan of everything. @throws TrainerError */
  async scan(): Promise<WorkspaceAgent[]> {
    this.scanning?.abort.abort();
    const abort = new AbortController();
    const result = this.inTurn(async () => {
      const { found } = await this.reader.scan(this.folders(), abort.signal);
      this.byPath = new Map();
      for (const file of found) this.put(file);
      this.tell();
      for (const document of this.vscode.workspace.textDocuments) if (document.isDirty && document.uri.scheme === 'file' && isAgentFile(document.fileName)) this.note(document.fileName);
      return this.all();
    });
    const scanning = { result, abort };
    this.scanning = scanning;
    try {
      return await result;
    } catch (error) {
      // Another scan took its place: its result is the one that was asked for.
      if (this.scanning !== scanning && error instanceof TrainerError && error.code === 'cancelled') return await this.scanning.result;
      throw error;
    }
  }

  /** Resolves when what was asked for until now is done, or has failed. */
  async quiet(): Promise<void> {
    await this.queue;
  }

  dispose(): void {
    this.flush.dispose();
    for (const subscription of this.subscriptions) subscription.dispose();
    this.listeners.clear();
    this.reader.dispose();
  }

  private rescan(): void {
    this.scan().catch((error: unknown) => { this.failed(error); });
  }

  private note(path: string): void {
    this.changed.add(path);
    this.flush();
  }

  private lookAtChanges(): void {
    const paths = [...this.changed];
    this.changed.clear();
    if (paths.length > manyChanges || paths.some(isIgnoreFile)) this.rescan();
    else this.inTurn(() => this.look(paths)).catch((error: unknown) => { this.failed(error); });
  }

  private async look(paths: string[]): Promise<void> {
    const open = new Map(this.vscode.workspace.textDocuments.map((document) => [document.fileName, document]));
    const changes = paths.map((path): Change => ({ path, text: open.get(path)?.isDirty === true ? open.get(path)?.getText() ?? null : null }));
    const { found, gone } = await this.reader.look(this.folders(), changes);
    const before = JSON.stringify(this.all());
    for (const path of gone) this.forget(path);
    for (const file of found) this.put(file);
    if (JSON.stringify(this.all()) !== before) this.tell();
  }

  private put({ path, agents }: FileAgents): void {
    const file = this.vscode.Uri.file(path);
    if (agents.length === 0) this.byPath.delete(path);
    else this.byPath.set(path, agents.map((agent) => ({ ...agent, file })));
  }

  private forget(path: string): void {
    for (const known of this.byPath.keys()) if (known === path || known.startsWith(path + sep)) this.byPath.delete(known);
  }

  private folders(): ScanFolder[] {
    const { workspace } = this.vscode;
    return (workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === 'file')
      .map(({ uri }) => ({ path: uri.fsPath, exclude: { ...workspace.getConfiguration('files', uri).get<ScanFolder['exclude']>('exclude') } }));
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.queue.then(work);
    this.queue = done.catch(() => {}); // told to who asked for it
    return done;
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }

  private failed(error: unknown): void {
    if (!(error instanceof TrainerError && error.code === 'cancelled')) this.log.background('Looking for agents failed', error);
  }
}

const isIgnoreFile = (path: string): boolean => basename(path) === '.gitignore';
