import type { Uri, WebviewPanel } from 'vscode';
import { z } from 'zod';
import { FromTrace } from '../../trainer/protocol/views.ts';
import type { ToTrace } from '../../trainer/protocol/views.ts';
import { panels } from '../ids.ts';
import { cancelRun } from '../runs/stop-command.ts';
import type { Services } from '../services.ts';
import type { RpcClient } from '../trainer/rpc-client.ts';
import { runHeader } from '../views/run-header.ts';
import { TraceBook } from '../views/trace-book.ts';
import type { Workspace } from '../workspace.ts';
import { coalesce } from './coalesce.ts';
import { openPage, pageRoot, panelColumn } from './page.ts';

const Shown = z.object({ folder: z.string(), run_id: z.string().nullable() });

const refreshMs = 60;
/** Up to this many rollouts are loaded with their spans at once; of longer lists, as they are opened. */
const eagerLimit = 50;

/** What the panel shows, and its own subscription to the run. */
interface Following {
  workspace: Workspace;
  run_id: string;
  step: number | null;
  open: string | null;
  book: TraceBook;
  client: RpcClient | null; // null while it connects
}

/** The one trace panel: the rollouts of a run with every span, live. */
export class TracePanel {
  private readonly services: Services;
  private readonly extensionUri: Uri;
  private panel: WebviewPanel | null = null;
  private shown: Following | null = null;
  private readonly dirty = new Set<string>();
  private readonly refresh = coalesce(() => { this.pushDirty(); }, refreshMs);

  constructor(services: Services, extensionUri: Uri) {
    this.services = services;
    this.extensionUri = extensionUri;
    services.workspaces.onChanged(() => { this.pushHeader(); });
  }

  /** Opens the panel on a run, and there on a rollout. @throws TrainerError when the trainer cannot be reached */
  async show(workspace: Workspace, run_id: string, rollout_id: string | null): Promise<void> {
    if (this.panel === null) {
      const { window, l10n } = this.services.vscode;
      this.adopt(window.createWebviewPanel(panels.trace, l10n.t('Trace'), { viewColumn: panelColumn(this.services.vscode), preserveFocus: true }, { localResourceRoots: [pageRoot(this.services.vscode, this.extensionUri)] }));
    } else this.panel.reveal(undefined, true);
    await this.follow(workspace, run_id, await this.stepOf(workspace, run_id, rollout_id), rollout_id);
  }

  /** Takes over a panel that VS Code restored; its run is shown if the trainer still runs. */
  async restore(panel: WebviewPanel, state: unknown): Promise<void> {
    this.adopt(panel);
    const kept = Shown.safeParse(state);
    if (!kept.success || kept.data.run_id === null || !this.services.vscode.workspace.isTrusted) return;
    await this.show(this.services.workspaces.at(kept.data.folder), kept.data.run_id, null);
  }

  private adopt(panel: WebviewPanel): void {
    this.panel?.dispose();
    this.panel = panel;
    panel.webview.onDidReceiveMessage((message: unknown) => { void this.receive(message); });
    panel.onDidChangeViewState(() => { if (panel.visible) this.pushAll(); });
    panel.onDidDispose(() => {
      if (this.panel !== panel) return;
      this.panel = null;
      this.leave();
    });
    openPage(this.services.vscode, this.extensionUri, panel, { name: 'trace', title: 'Trace' });
  }

  /** Subscribes to a run (a step of it), then lists what is there already: nothing falls between the two. */
  private async follow(workspace: Workspace, run_id: string, step: number | null, open: string | null): Promise<void> {
    this.leave();
    const book = new TraceBook((rollout) => rollout.run_id === run_id && (step === null || rollout.step === step));
    const shown: Following = { workspace, run_id, step, open, book, client: null };
    this.shown = shown;
    this.pushAll();
    const client = await workspace.supervisor.connect();
    if (this.shown !== shown) {
      client.close();
      return;
    }
    shown.client = client;
    client.onEvent = (event) => {
      const { changed, ended } = book.apply(event);
      for (const id of changed) this.dirty.add(id);
      for (const id of ended) if (book.ids.length <= eagerLimit) void this.load(shown, id);
      if (changed.length > 0) this.refresh();
    };
    await client.call('events.subscribe', { run_id, types: ['rollout', 'spans'] });
    const rollouts = await client.call('rollouts.list', step === null ? { run_id } : { run_id, step });
    book.list(rollouts);
    const wanted = rollouts.length <= eagerLimit ? book.ids : open === null ? [] : [open];
    await Promise.all(wanted.map((id) => this.load(shown, id)));
    if (this.shown === shown) this.pushAll();
  }

  private leave(): void {
    this.shown?.client?.close();
    this.shown = null;
    this.dirty.clear();
  }

  private async load(shown: Following, rollout_id: string): Promise<void> {
    try {
      const trace = await shown.client?.call('trace.get', { rollout_id });
      if (trace === undefined || this.shown !== shown) return;
      shown.book.load(trace.rollout, trace.spans, { stdout: trace.stdout, stderr: trace.stderr });
      this.dirty.add(rollout_id);
      this.refresh();
    } catch (error) {
      this.services.log.background(`The trace of ${rollout_id} could not be read`, error);
    }
  }

  private async receive(message: unknown): Promise<void> {
    const parsed = FromTrace.safeParse(message);
    const { shown } = this;
    if (!parsed.success) return;
    try {
      if (parsed.data.type === 'ready') this.pushAll();
      else if (shown === null) return;
      else if (parsed.data.type === 'load') await this.load(shown, parsed.data.rollout_id);
      else if (parsed.data.type === 'step') await this.follow(shown.workspace, shown.run_id, parsed.data.step, null);
      else await cancelRun(this.services, shown.workspace, parsed.data.run_id);
    } catch (error) {
      await this.services.log.toast(error);
    }
  }

  /** The step to show: that of the wanted rollout, else of a training run the latest. */
  private async stepOf(workspace: Workspace, run_id: string, rollout_id: string | null): Promise<number | null> {
    if (rollout_id !== null) {
      const trace = await (await workspace.client()).call('trace.get', { rollout_id });
      return trace.rollout.step;
    }
    return workspace.book.entries.get(run_id)?.steps.at(-1)?.step ?? null;
  }

  private pushAll(): void {
    const { shown } = this;
    this.dirty.clear();
    if (shown === null) {
      this.post({ type: 'view', view: { header: null, rollouts: [], steps: [], step: null, open: null }, keep: null });
      return;
    }
    const entry = shown.workspace.book.entries.get(shown.run_id);
    this.post({
      type: 'view',
      view: {
        header: entry === undefined ? null : runHeader(entry.run),
        rollouts: shown.book.views(),
        steps: (entry?.steps ?? []).map((step) => ({ value: step.step, label: `Step ${step.step + 1}` })),
        step: shown.step,
        open: shown.open,
      },
      keep: { folder: shown.workspace.folder, run_id: shown.run_id },
    });
  }

  private pushHeader(): void {
    const entry = this.shown?.workspace.book.entries.get(this.shown.run_id);
    if (entry !== undefined) this.post({ type: 'header', header: runHeader(entry.run) });
  }

  private pushDirty(): void {
    const ids = [...this.dirty];
    this.dirty.clear();
    if (this.shown !== null && ids.length > 0) this.post({ type: 'rollouts', rollouts: this.shown.book.views(ids) });
  }

  private post(message: ToTrace): void {
    if (this.panel?.visible === true) void this.panel.webview.postMessage(message);
  }
}
