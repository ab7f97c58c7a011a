import type { Uri, WebviewPanel } from 'vscode';
import { z } from 'zod';
import { t } from '../../trainer/protocol/l10n.ts';
import type { AttemptedRollout } from '../../trainer/protocol/rollout.ts';
import { FromTraining } from '../../trainer/protocol/views.ts';
import type { ToTraining } from '../../trainer/protocol/views.ts';
import { commands, panels } from '../ids.ts';
import { chooseComparison } from '../runs/compare-command.ts';
import { continueRun, pauseRun, setRunners } from '../runs/control-commands.ts';
import type { RunEntry } from '../runs/run-book.ts';
import { cancelRun } from '../runs/stop-command.ts';
import type { Services } from '../services.ts';
import { emptyTrainingView, trainingView } from '../views/training-view.ts';
import type { Workspace } from '../workspace.ts';
import { coalesce } from './coalesce.ts';
import { openPage, pageRoot, panelColumn } from './page.ts';

/** What the page keeps over a reload of the window: which run it shows. */
const Shown = z.object({ folder: z.string(), run_id: z.string().nullable() });

const refreshMs = 100;

/** What the panel looks at. */
interface Looking {
  workspace: Workspace;
  /** null: the latest. */
  run_id: string | null;
  /** null: the newest, as it comes. */
  step: number | null;
  loss: number | null;
  /** Runs drawn beside it. */
  compared: string[];
}

/** The one training panel: charts, funnel, rollouts and steps of a run, the latest one unless another was asked for. */
export class TrainingPanel {
  private readonly services: Services;
  private readonly extensionUri: Uri;
  private panel: WebviewPanel | null = null;
  private shown: Looking | null = null;
  /** Rollouts of the step last looked at; null while they are read. */
  private read: { key: string; rollouts: AttemptedRollout[] | null } | null = null;
  private readonly stepsAskedFor = new Set<string>();
  private readonly refresh = coalesce(() => { this.push(); }, refreshMs);

  constructor(services: Services, extensionUri: Uri) {
    this.services = services;
    this.extensionUri = extensionUri;
    services.workspaces.onChanged(() => { this.refresh(); });
  }

  /** Opens the panel on a run (null: the latest one of the workspace), with other runs beside it. */
  show(workspace: Workspace, run_id: string | null, compared: string[] = []): void {
    this.shown = { workspace, run_id, step: null, loss: null, compared };
    if (this.panel === null) {
      const { window, l10n } = this.services.vscode;
      const title = l10n.t('Training');
      this.adopt(window.createWebviewPanel(panels.training, title, { viewColumn: panelColumn(this.services.vscode), preserveFocus: true }, { localResourceRoots: [pageRoot(this.services.vscode, this.extensionUri)] }));
    } else {
      this.panel.reveal(undefined, true);
      this.push();
    }
  }

  /** Takes over a panel that VS Code restored. */
  restore(panel: WebviewPanel, state: unknown): void {
    const shown = Shown.safeParse(state);
    const folder = shown.success ? shown.data.folder : this.services.vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
    if (folder !== undefined) this.shown = { workspace: this.services.workspaces.at(folder), run_id: shown.data?.run_id ?? null, step: null, loss: null, compared: [] };
    this.adopt(panel);
  }

  private adopt(panel: WebviewPanel): void {
    this.panel?.dispose();
    this.panel = panel;
    panel.webview.onDidReceiveMessage((message: unknown) => { void this.receive(message); });
    panel.onDidChangeViewState(() => { if (panel.visible) this.push(); });
    panel.onDidDispose(() => { if (this.panel === panel) this.panel = null; });
    openPage(this.services.vscode, this.extensionUri, panel, { name: 'training', title: t('Training') });
  }

  private async receive(message: unknown): Promise<void> {
    const parsed = FromTraining.safeParse(message);
    if (!parsed.success) return;
    const { services, shown } = this;
    try {
      if (parsed.data.type === 'ready') this.push();
      else if (parsed.data.type === 'train') await services.vscode.commands.executeCommand(commands.train);
      else if (parsed.data.type === 'show-log') await services.vscode.commands.executeCommand(commands.showLog);
      else if (shown !== null) await this.act(shown, parsed.data);
    } catch (error) {
      await services.log.toast(error);
    }
  }

  private async act(shown: Looking, message: Exclude<FromTraining, { type: 'ready' | 'train' | 'show-log' }>): Promise<void> {
    const { services } = this;
    switch (message.type) {
      case 'cancel': return cancelRun(services, shown.workspace, message.run_id);
      case 'pause': return pauseRun(shown.workspace, message.run_id);
      case 'resume': return continueRun(services, shown.workspace, message.run_id);
      case 'runners': return setRunners(shown.workspace, message.run_id, message.n);
      case 'open-trace': return services.trace.show(shown.workspace, message.run_id, message.rollout_id);
      case 'compare': {
        const entry = this.entry();
        const chosen = entry === null ? undefined : await chooseComparison(services.vscode, shown.workspace, entry.run.run_id, shown.compared);
        if (chosen !== undefined) shown.compared = chosen;
        break;
      }
      case 'leave-out': shown.compared = shown.compared.filter((run_id) => run_id !== message.run_id); break;
      case 'step':
        shown.step = message.step;
        shown.loss = null;
        break;
      case 'loss': shown.loss = message.loss; break;
    }
    this.push();
  }

  private entry(): RunEntry | null {
    if (this.shown === null) return null;
    const { workspace, run_id } = this.shown;
    const latest = workspace.book.list().find((entry) => entry.run.kind === 'train') ?? workspace.book.list()[0];
    return (run_id === null ? latest : workspace.book.entries.get(run_id)) ?? null;
  }

  private push(): void {
    const { panel, shown } = this;
    if (panel === null || !panel.visible) return;
    const entry = this.entry();
    if (shown === null || entry === null) {
      void panel.webview.postMessage({ type: 'view', view: emptyTrainingView, keep: shown === null ? null : { folder: shown.workspace.folder, run_id: null } } satisfies ToTraining);
      return;
    }
    const compared = shown.compared.flatMap((run_id) => shown.workspace.book.entries.get(run_id) ?? []);
    for (const each of [entry, ...compared]) if (each.steps.length === 0) void this.loadSteps(shown.workspace, each);
    const view = trainingView(entry, Date.now() / 1000, { step: shown.step, loss: shown.loss, compared, rollouts: this.rolloutsOf(shown, entry) });
    void panel.webview.postMessage({ type: 'view', view, keep: { folder: shown.workspace.folder, run_id: entry.run.run_id } } satisfies ToTraining);
  }

  /** A run that was found, not followed, has no steps yet: asks for them, once. */
  private async loadSteps({ supervisor, book }: Workspace, { run: { run_id, kind } }: RunEntry): Promise<void> {
    if (kind !== 'train' || this.stepsAskedFor.has(run_id) || supervisor.state.kind !== 'ready') return;
    this.stepsAskedFor.add(run_id);
    try {
      const { run, steps } = await supervisor.state.client.call('runs.get', { run_id });
      if (steps.length > 0) book.put(run, steps);
    } catch (error) {
      this.services.log.background('The steps of the run could not be read', error);
    }
  }

  /** Rollouts of the step looked at: as read, or null after asking for them. */
  private rolloutsOf({ workspace, step }: Looking, { run: { run_id }, steps }: RunEntry): AttemptedRollout[] | null {
    const wanted = step ?? steps.at(-1)?.step;
    if (wanted === undefined) return null;
    const key = `${run_id} ${wanted}`;
    if (this.read?.key === key) return this.read.rollouts;
    this.read = { key, rollouts: null };
    const fail = (error: unknown): void => { this.services.log.background(`The rollouts of step ${wanted + 1} could not be read`, error); };
    workspace.client().then((client) => client.call('rollouts.list', { run_id, step: wanted })).then((rollouts) => {
      if (this.read?.key !== key) return;
      this.read.rollouts = rollouts;
      this.push();
    }).catch(fail);
    return null;
  }
}
