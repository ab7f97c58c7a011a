import { t } from '../../trainer/protocol/l10n.ts';
import { basename } from 'node:path';
import type { Disposable, Event, EventEmitter, TreeDataProvider, TreeItem } from 'vscode';
import { commands, views } from '../ids.ts';
import { coalesce } from '../panels/coalesce.ts';
import type { CoreServices } from '../services.ts';
import type { Workspace } from '../workspace.ts';
import type { RunsNode } from './run-nodes.ts';

const refreshMs = 250;

/** The Runs view: every run of the workspace, newest first; under each what it brought, its checkpoints and configuration. */
export class RunsTree implements TreeDataProvider<RunsNode> {
  readonly onDidChangeTreeData: Event<undefined>;
  private readonly services: CoreServices;
  private readonly changed: EventEmitter<undefined>;
  private drawn = '';

  constructor(services: CoreServices) {
    this.services = services;
    this.changed = new services.vscode.EventEmitter<undefined>();
    this.onDidChangeTreeData = this.changed.event;
  }

  /** Shows the view; runs are read when it is seen, and when the user comes back to the window: a command line may have made some. */
  register(): Disposable {
    const { services } = this;
    const view = services.vscode.window.createTreeView(views.runs, { treeDataProvider: this, canSelectMany: true });
    const refresh = coalesce(() => { this.refresh().catch((error: unknown) => { services.log.background('The Runs view could not be drawn', error); }); }, refreshMs);
    const read = (): void => {
      if (!view.visible || !services.vscode.workspace.isTrusted || !services.workspaces.canStart) return;
      services.workspaces.readRuns().catch((error: unknown) => { services.log.background('The runs of the workspace could not be read', error); });
    };
    const subscriptions: { dispose(): void }[] = [view, this.changed, refresh, services.workspaces.onChanged(refresh), view.onDidChangeVisibility(read), services.vscode.window.onDidChangeWindowState(({ focused }) => { if (focused) read(); }), services.vscode.workspace.onDidGrantWorkspaceTrust(read)];
    read();
    return services.vscode.Disposable.from(...subscriptions);
  }

  getTreeItem(node: RunsNode): TreeItem {
    const { ThemeColor, ThemeIcon, TreeItem: Item, TreeItemCollapsibleState } = this.services.vscode;
    const item = new Item(node.label, node.expands ? TreeItemCollapsibleState.Collapsed : TreeItemCollapsibleState.None);
    item.id = node.key;
    item.description = node.description;
    item.tooltip = node.tooltip;
    item.contextValue = node.context;
    if (node.icon !== null) item.iconPath = new ThemeIcon(node.icon.id, node.icon.color === undefined ? undefined : new ThemeColor(node.icon.color));
    if (node.run !== null) item.command = { command: commands.openRun, title: t('Open'), arguments: [node.run] };
    return item;
  }

  async getChildren(node?: RunsNode): Promise<RunsNode[]> {
    if (node === undefined) return this.roots();
    const [workspace, run_id] = this.find(node);
    if (workspace === undefined || run_id === undefined) return workspace === undefined ? [] : this.runsOf(workspace);
    const entry = workspace.book.entries.get(run_id);
    if (entry === undefined) return [];
    const { configNodes, detailNodes } = await import('./run-nodes.ts');
    if (node.context === 'config') return configNodes(workspace.folder, entry);
    const { run, steps, checkpoints } = await (await workspace.client()).call('runs.get', { run_id });
    return detailNodes(workspace.folder, { ...entry, run, steps }, checkpoints);
  }

  private async roots(): Promise<RunsNode[]> {
    const workspaces = this.services.workspaces.all().filter(({ book }) => book.entries.size > 0);
    const [only] = workspaces;
    if (only !== undefined && workspaces.length === 1) return this.runsOf(only);
    return workspaces.map(({ folder, book }) => ({ key: folder, label: basename(folder), description: `${book.entries.size}`, tooltip: folder, icon: { id: 'folder' }, context: 'folder', expands: true, run: null, path: null }));
  }

  private async runsOf({ folder, book }: Workspace): Promise<RunsNode[]> {
    const { runNode } = await import('./run-nodes.ts');
    return book.list().map((entry) => runNode(folder, entry));
  }

  /** The workspace and run a node is of. */
  private find(node: RunsNode): [Workspace | undefined, string | undefined] {
    const workspace = this.services.workspaces.all().find(({ folder }) => node.key === folder || node.key.startsWith(`${folder} ru-`));
    return [workspace, workspace === undefined ? undefined : node.key.slice(workspace.folder.length + 1).split(' ')[0] || undefined];
  }

  /** Draws anew when a run's line has changed: rollouts alone change none. */
  private async refresh(): Promise<void> {
    const now = JSON.stringify(await Promise.all(this.services.workspaces.all().map((workspace) => this.runsOf(workspace))));
    if (now === this.drawn) return;
    this.drawn = now;
    this.changed.fire(undefined);
  }
}
