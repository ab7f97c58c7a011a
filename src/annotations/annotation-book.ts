import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { EventEmitter, Uri } from 'vscode';
import type { AgentAnnotation, Annotations } from '../../trainer/protocol/annotations.ts';
import { settings } from '../ids.ts';
import type { Log } from '../log.ts';
import { coalesce } from '../panels/coalesce.ts';
import { stateFolder } from '../trainer/state-folder.ts';
import type { VSCode } from '../vscode.ts';
import type { Workspace } from '../workspace.ts';
import type { Workspaces } from '../workspaces.ts';

/** At most so often the trainer is asked while a run goes on. */
const refreshMs = 1000;

/** What is known for a file, and by whose trainer. */
export interface Known { workspace: Workspace; annotations: Annotations }

/** What the trainers of this window say about agents and lines. Asked for when a file with agents is in sight, and again as runs go on. */
export class AnnotationBook {
  readonly changed: EventEmitter<void>;
  private readonly vscode: VSCode;
  private readonly workspaces: Workspaces;
  private readonly log: Log;
  private readonly known = new Map<Workspace, Annotations | null>();
  private readonly subscriptions: { dispose(): void }[];

  constructor(vscode: VSCode, workspaces: Workspaces, log: Log) {
    this.vscode = vscode;
    this.workspaces = workspaces;
    this.log = log;
    this.changed = new vscode.EventEmitter();
    const refresh = coalesce(() => { for (const [workspace] of this.known) if (workspace.supervisor.state.kind === 'ready') this.refresh(workspace); }, refreshMs);
    this.subscriptions = [
      this.changed, refresh, workspaces.onChanged(refresh),
      vscode.workspace.onDidChangeConfiguration((event) => { if (event.affectsConfiguration(settings.annotations)) this.changed.fire(); }),
      vscode.workspace.onDidGrantWorkspaceTrust(() => { this.changed.fire(); }),
    ];
  }

  get enabled(): boolean {
    return this.vscode.workspace.isTrusted && this.vscode.workspace.getConfiguration().get<boolean>(settings.annotations, true);
  }

  /** What is known for a file; null while nothing is. The first question about a workspace asks its trainer, if it has ever had runs. */
  of(file: Uri): Known | null {
    if (!this.enabled || file.scheme !== 'file') return null;
    const workspace = this.workspaces.of(file);
    if (!this.known.has(workspace)) {
      this.known.set(workspace, null);
      if (this.workspaces.canStart && existsSync(join(workspace.folder, stateFolder, 'trainer.db'))) this.refresh(workspace);
    }
    const annotations = this.known.get(workspace) ?? null;
    return annotations === null ? null : { workspace, annotations };
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private refresh(workspace: Workspace): void {
    if (!this.enabled) return;
    workspace.client().then((client) => client.call('annotations.get', {})).then((annotations) => {
      if (JSON.stringify(annotations) === JSON.stringify(this.known.get(workspace))) return;
      this.known.set(workspace, annotations);
      this.changed.fire();
    }).catch((error: unknown) => { this.log.background('The annotations of agents could not be read', error); });
  }
}

/** Of an agent named `path:name`; a run may have named it by its path alone. */
export function annotationOf({ agents }: Annotations, reference: string): AgentAnnotation | undefined {
  return agents.find(({ agent }) => agent === reference) ?? agents.find(({ agent }) => agent === reference.replace(/:[^:/\\]*$/, ''));
}
