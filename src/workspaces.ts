import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Uri } from 'vscode';
import type { Run } from '../trainer/protocol/run.ts';
import type { Log } from './log.ts';
import { nearestConfig } from './runs/config-file.ts';
import { findNode } from './trainer/find-node.ts';
import type { NodeProgram } from './trainer/find-node.ts';
import type { HubToken } from './models/hub-token.ts';
import type { NativePackages } from './trainer/native-packages.ts';
import type { VSCode } from './vscode.ts';
import { settings } from './ids.ts';
import { Workspace } from './workspace.ts';

/** The workspaces of this window, by folder; each gets its trainer when it is first needed. */
export class Workspaces {
  private readonly vscode: VSCode;
  /** The trainer's program. */
  readonly cli: string;
  private readonly log: Log;
  private readonly packages: NativePackages;
  private readonly hubToken: HubToken;
  private readonly tokenChanges: { dispose(): void };
  private readonly byFolder = new Map<string, Workspace>();
  private readonly listeners = new Set<() => void>();
  onRunEnded: (workspace: Workspace, run: Run) => void = () => {};

  constructor(vscode: VSCode, cli: string, packages: NativePackages, hubToken: HubToken, log: Log) {
    this.vscode = vscode;
    this.cli = cli;
    this.packages = packages;
    this.hubToken = hubToken;
    this.log = log;
    this.tokenChanges = hubToken.onChanged(() => {
      for (const workspace of this.all()) workspace.tellHubToken().catch((error: unknown) => { log.background('The trainer could not be given the Hugging Face token', error); });
    });
  }

  /** Whether a trainer can be started without asking the user for anything. */
  get canStart(): boolean { return this.packages.isReady; }

  all(): Workspace[] { return [...this.byFolder.values()]; }

  /** Called whenever a trainer or a run of any workspace has changed. */
  onChanged(listener: () => void): { dispose(): void } {
    this.listeners.add(listener);
    return { dispose: () => { this.listeners.delete(listener); } };
  }

  /** The workspace a file belongs to: its workspace folder, else (a file opened alone) the folder of its configuration, else its own. */
  of(file: Uri): Workspace {
    const folder = this.vscode.workspace.getWorkspaceFolder(file);
    if (folder !== undefined) return this.at(folder.uri.fsPath);
    const config = nearestConfig(file.fsPath, dirname(dirname(file.fsPath)));
    return this.at(dirname(config ?? file.fsPath));
  }

  at(folder: string): Workspace {
    const known = this.byFolder.get(folder);
    if (known !== undefined) return known;
    const workspace = new Workspace({ folder, cli: this.cli, findNode: () => this.nodeForTrainer(), hubToken: this.hubToken, log: this.log });
    workspace.supervisor.onStateChanged = () => { this.changed(); };
    workspace.onRunChanged = (_run_id, ended) => {
      if (ended !== null) this.onRunEnded(workspace, ended);
      this.changed();
    };
    this.byFolder.set(folder, workspace);
    return workspace;
  }

  /** Finds the trainers that outlived the window that started them. */
  async attachAll(): Promise<void> {
    for (const folder of this.vscode.workspace.workspaceFolders ?? []) await this.at(folder.uri.fsPath).supervisor.attach();
  }

  /** Reads the runs of the folders that have had some; starts their trainers for it. */
  async readRuns(): Promise<void> {
    const folders = (this.vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath).filter((folder) => existsSync(join(folder, '.agent-trainer', 'trainer.db')));
    await Promise.all(folders.map((folder) => this.at(folder).readRuns()));
  }

  dispose(): void {
    this.tokenChanges.dispose();
    for (const workspace of this.byFolder.values()) workspace.dispose();
  }

  /** Node with all that the trainer needs; asks the user where `canStart` is false. @throws TrainerError */
  async nodeForTrainer(): Promise<NodeProgram> {
    const node = await findNode(this.vscode.workspace.getConfiguration().get<string>(settings.nodePath) ?? '', (line) => { this.log.info(line); });
    await this.packages.provide(node);
    return node;
  }

  private changed(): void {
    for (const listener of this.listeners) listener();
  }
}
