import type { Uri, WebviewPanel } from 'vscode';
import { z } from 'zod';
import { FromTraining } from '../../trainer/protocol/views.ts';
import type { ToTraining } from '../../trainer/protocol/views.ts';
import { commands, panels } from '../ids.ts';
import { cancelRun } from '../runs/stop-command.ts';
import type { Services } from '../services.ts';
import { emptyTrainingView, trainingView } from '../views/training-view.ts';
import type { Workspace } from '../workspace.ts';
import { coalesce } from './coalesce.ts';
import { openPage, pageRoot, panelColumn } from './page.ts';

/** What the page keeps over a reload of the window: which run it shows. */
const Shown = z.object({ folder: z.string(), run_id: z.string().nullable() });

const refreshMs = 100;

/** The one training panel: the curve, funnel and steps of a run, the latest one unless another was asked for. */
export class TrainingPanel {
  private readonly services: Services;
  private readonly extensionUri: Uri;
  private panel: WebviewPanel | null = null;
  private shown: { workspace: Workspace; run_id: string | null } | null = null;
  private readonly refresh = coalesce(() => { this.push(); }, refreshMs);

  constructor(services: Services, extensionUri: Uri) {
    this.services = services;
    this.extensionUri = extensionUri;
    services.workspaces.onChanged(() => { this.refresh(); });
  }

  /** Opens the panel on a run; null: the latest one of the workspace. */
  show(workspace: Workspace, run_id: string | null): void {
    this.shown = { workspace, run_id };
    if (this.panel === null) {
      const { window, l10n } = this.services.vscode;
      const title = l10n.t('Training');
      this.adopt(window.createWebviewPanel(panels.training, title, { viewColumn: panelColumn(this.services.vscode), preserveFocus: true }, { localResourceRoots: [pageRoot(this.services.vscode, this.extensionUri)] }));
    } else {
      this.panel.reveal(undefined, true);
      this.push();
    }
    void this.loadSteps();
  }

  /** Takes over a panel that VS Code restored. */
  restore(panel: WebviewPanel, state: unknown): void {
    const shown = Shown.safeParse(state);
    const folder = shown.success ? shown.data.folder : this.services.vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
    if (folder !== undefined) this.shown = { workspace: this.services.workspaces.at(folder), run_id: shown.data?.run_id ?? null };
    this.adopt(panel);
    void this.loadSteps();
  }

  private adopt(panel: WebviewPanel): void {
    this.panel?.dispose();
    this.panel = panel;
    panel.webview.onDidReceiveMessage((message: unknown) => { void this.receive(message); });
    panel.onDidChangeViewState(() => { if (panel.visible) this.push(); });
    panel.onDidDispose(() => { if (this.panel === panel) this.panel = null; });
    openPage(this.services.vscode, this.extensionUri, panel, { name: 'training', title: 'Training' });
  }

  private async receive(message: unknown): Promise<void> {
    const parsed = FromTraining.safeParse(message);
    if (!parsed.success) return;
    const { services, shown } = this;
    try {
      switch (parsed.data.type) {
        case 'ready': this.push(); break;
        case 'train': await services.vscode.commands.executeCommand(commands.train); break;
        case 'show-log': await services.vscode.commands.executeCommand(commands.showLog); break;
        case 'cancel': if (shown !== null) await cancelRun(services, shown.workspace, parsed.data.run_id); break;
        case 'open-trace': if (shown !== null) await services.trace.show(shown.workspace, parsed.data.run_id, parsed.data.rollout_id); break;
      }
    } catch (error) {
      await services.log.toast(error);
    }
  }

  /** A run that was found, not followed, has no steps yet: asks for them. */
  private async loadSteps(): Promise<void> {
    const { shown } = this;
    const entry = this.entry();
    if (shown === null || entry === null || entry.steps.length > 0 || shown.workspace.supervisor.state.kind !== 'ready') return;
    try {
      const { run, steps } = await shown.workspace.supervisor.state.client.call('runs.get', { run_id: entry.run.run_id });
      if (steps.length > 0) shown.workspace.book.put(run, steps);
    } catch (error) {
      this.services.log.background('The steps of the run could not be read', error);
    }
  }

  private entry() {
    if (this.shown === null) return null;
    const { workspace, run_id } = this.shown;
    const latest = workspace.book.list().find((entry) => entry.run.kind === 'train') ?? workspace.book.list()[0];
    return (run_id === null ? latest : workspace.book.entries.get(run_id)) ?? null;
  }

  private push(): void {
    const { panel } = this;
    if (panel === null || !panel.visible) return;
    const entry = this.entry();
    const view = entry === null ? emptyTrainingView : trainingView(entry, Date.now() / 1000);
    const keep = this.shown === null ? null : { folder: this.shown.workspace.folder, run_id: entry?.run.run_id ?? null };
    void panel.webview.postMessage({ type: 'view', view, keep } satisfies ToTraining);
  }
}
