import { basename, dirname } from 'node:path';
import type { Disposable, TestController, TestItem, Uri } from 'vscode';
import { messageOf } from '../../trainer/protocol/errors.ts';
import type { ListedTask } from '../../trainer/protocol/tasks.ts';
import { configName, findConfigs } from '../runs/config-file.ts';
import { configuredAgent } from '../runs/configured-agent.ts';
import type { CoreServices } from '../services.ts';
import { taskTitle } from '../views/rollout-view.ts';

/** The agents of the workspace as tests: one for each agent-trainer.json (its id is that file), below it the validation tasks (by task id). */
export class EvaluationTree implements Disposable {
  private readonly services: CoreServices;
  private readonly controller: TestController;
  private readonly subscriptions: Disposable[] = [];
  /** By root: who watches the file of its tasks. */
  private readonly taskWatchers = new Map<string, Disposable>();

  constructor(services: CoreServices, controller: TestController) {
    this.services = services;
    this.controller = controller;
  }

  /** Finds the configurations, and follows them from now on. */
  async discover(): Promise<void> {
    const { vscode } = this.services;
    if (this.subscriptions.length === 0) this.watch();
    const roots = await Promise.all((await findConfigs(vscode)).map((config) => this.rootOf(config)));
    this.controller.items.replace(roots);
  }

  /** Lists the tasks below an agent; why they cannot be listed is told there. `mayAsk`: whether the user may be asked for what the trainer needs. */
  async resolve(root: TestItem, { mayAsk = false } = {}): Promise<void> {
    const { vscode, workspaces } = this.services;
    root.error = undefined;
    if (!vscode.workspace.isTrusted || (!mayAsk && !workspaces.canStart)) {
      root.error = vscode.workspace.isTrusted ? vscode.l10n.t('The tasks are listed when they are first run.') : vscode.l10n.t('The tasks are listed when this workspace is trusted.');
      return;
    }
    root.busy = true;
    try {
      const client = await workspaces.of(vscode.Uri.file(root.id)).client();
      const { file, tasks } = await client.call('tasks.list', { config_path: root.id });
      root.children.replace(tasks.map((task, index) => this.itemOf(task, index, file)));
      this.watchTasks(root, file);
    } catch (error) {
      root.children.replace([]);
      root.error = messageOf(error);
    } finally {
      root.busy = false;
    }
  }

  dispose(): void {
    for (const each of [...this.subscriptions, ...this.taskWatchers.values()]) each.dispose();
  }

  private watch(): void {
    const { vscode, finder } = this.services;
    const watcher = vscode.workspace.createFileSystemWatcher(`**/${configName}`);
    const read = (config: Uri): void => { this.read(config).catch((error: unknown) => { this.services.log.background('An agent could not be listed as a test', error); }); };
    this.subscriptions.push(
      watcher, watcher.onDidCreate(read), watcher.onDidChange(read),
      watcher.onDidDelete((config) => { this.controller.items.delete(config.fsPath); }),
      finder.onChanged(() => { for (const [, root] of this.controller.items) void this.place(root); }),
      vscode.workspace.onDidGrantWorkspaceTrust(() => { for (const [, root] of this.controller.items) if (root.error !== undefined) void this.resolve(root); }),
      vscode.workspace.onDidSaveTextDocument(({ uri }) => { for (const [, root] of this.controller.items) if (root.uri?.fsPath === uri.fsPath) this.controller.invalidateTestResults(root); }),
    );
  }

  private watchTasks(root: TestItem, file: string): void {
    const { vscode } = this.services;
    this.taskWatchers.get(root.id)?.dispose();
    const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(vscode.Uri.file(dirname(file)), basename(file)));
    const again = (): void => { void this.resolve(root); };
    this.taskWatchers.set(root.id, vscode.Disposable.from(watcher, watcher.onDidCreate(again), watcher.onDidChange(again), watcher.onDidDelete(again)));
  }

  /** Takes a new or changed configuration over; its tasks are listed again if they were. */
  private async read(config: Uri): Promise<void> {
    const before = this.controller.items.get(config.fsPath);
    const root = await this.rootOf(config);
    this.controller.items.add(root);
    if (before !== undefined && (before.children.size > 0 || before.error !== undefined)) await this.resolve(root);
  }

  private async rootOf(config: Uri): Promise<TestItem> {
    const { vscode } = this.services;
    const agent = await configuredAgent(config.fsPath);
    const name = agent?.name == null ? '' : `:${agent.name}`;
    const label = agent === null ? vscode.workspace.asRelativePath(config) : vscode.workspace.asRelativePath(agent.file) + name;
    const root = this.controller.createTestItem(config.fsPath, label, agent === null ? config : vscode.Uri.file(agent.file));
    root.canResolveChildren = true;
    await this.place(root);
    return root;
  }

  /** Puts a root beside its agent in the source, where that is found. */
  private async place(root: TestItem): Promise<void> {
    const { vscode, finder } = this.services;
    const agent = await configuredAgent(root.id);
    const found = agent && finder.wrapped().find(({ file, name }) => file.fsPath === agent.file && (agent.name === null || name === agent.name));
    const line = found?.line ?? 0;
    root.range = new vscode.Range(line, 0, line, 0);
  }

  private itemOf({ task_id, input, line }: ListedTask, index: number, file: string): TestItem {
    const { vscode } = this.services;
    const isText = !file.endsWith('.parquet');
    const item = this.controller.createTestItem(task_id, taskTitle(input), isText ? vscode.Uri.file(file) : undefined);
    if (isText) item.range = new vscode.Range(line - 1, 0, line - 1, 0);
    item.sortText = String(index).padStart(8, '0');
    return item;
  }
}
