import type { Uri, WebviewPanel } from 'vscode';
import { z } from 'zod';
import { plural, t } from '../../trainer/protocol/l10n.ts';
import { messageOf } from '../../trainer/protocol/errors.ts';
import type { TraceCredit } from '../../trainer/protocol/credit.ts';
import { fromOtlp } from '../../trainer/protocol/otlp.ts';
import { spanNames } from '../../trainer/protocol/span.ts';
import type { Span } from '../../trainer/protocol/span.ts';
import { packRows } from '../../trainer/protocol/span-batch.ts';
import { FromTrace, spanKey } from '../../trainer/protocol/trace-views.ts';
import type { ToTrace, TraceView } from '../../trainer/protocol/trace-views.ts';
import type { RunHeader } from '../../trainer/protocol/views.ts';
import { panels } from '../ids.ts';
import { cancelRun } from '../runs/stop-command.ts';
import type { Services } from '../services.ts';
import { creditViewOf } from '../views/credit-view.ts';
import { fileRollouts } from '../views/file-rollouts.ts';
import { runHeader } from '../views/run-header.ts';
import { spanRow } from '../views/span-row.ts';
import { TraceBook } from '../views/trace-book.ts';
import type { Change } from '../views/trace-book.ts';
import type { Workspace } from '../workspace.ts';
import { coalesce } from './coalesce.ts';
import { openPage, pageRoot, panelColumn } from './page.ts';
import { compareWith, copyCurl, exportOtlp, goToSource, startReplay } from './trace-actions.ts';
import { followRun, isReplayOf } from './trace-source.ts';
import type { Following } from './trace-source.ts';

const Shown = z.object({ folder: z.string(), run_id: z.string().nullable() });

const refreshMs = 60;

/** What the panel shows: a run, followed live, or an opened file. */
type Showing = { kind: 'run'; following: Following; open: string | null } | { kind: 'file'; header: RunHeader; book: TraceBook; name: string };

/** The one trace panel: the rollouts of a run with every span, live, or the traces of a file. */
export class TracePanel {
  private readonly services: Services;
  private readonly extensionUri: Uri;
  private panel: WebviewPanel | null = null;
  private showing: Showing | null = null;
  private selected: { rollout_id: string; span_id: string | null } | null = null;
  private readonly heads = new Set<string>();
  private readonly resets = new Set<string>();
  private spans: Span[] = [];
  private readonly refresh = coalesce(() => { this.pushChanges(); }, refreshMs);

  constructor(services: Services, extensionUri: Uri) {
    this.services = services;
    this.extensionUri = extensionUri;
    services.workspaces.onChanged(() => {
      this.pushHeader();
      this.followAgain();
    });
  }

  /** Opens the panel on a run, and there on a rollout. @throws TrainerError when the trainer cannot be reached */
  async show(workspace: Workspace, run_id: string, rollout_id: string | null): Promise<void> {
    this.reveal();
    await this.follow(workspace, run_id, await this.stepOf(workspace, run_id, rollout_id), rollout_id);
  }

  /** Opens a file of OTLP JSON. Needs no trainer. @throws TrainerError when it cannot be read as such */
  async openFile(file: Uri): Promise<void> {
    const { vscode } = this.services;
    const name = file.path.split('/').at(-1) ?? file.path;
    const rollouts = fileRollouts(fromOtlp(new TextDecoder().decode(await vscode.workspace.fs.readFile(file)), name));
    this.leave();
    const book = new TraceBook(() => true, false);
    for (const { rollout, spans } of rollouts) book.load(rollout, spans, { stdout: '', stderr: '' });
    const count = rollouts.reduce((sum, { spans }) => sum + spans.length, 0);
    this.showing = { kind: 'file', book, name, header: { run_id: file.toString(), title: name, status: 'succeeded', statusText: `${plural(rollouts.length, '{0} trace', '{0} traces')}, ${plural(count, '{0} span', '{0} spans')}`, error: null, canCancel: false } };
    this.reveal();
    this.pushAll();
  }

  /** Takes over a panel that VS Code restored; its run is shown if the trainer still runs. */
  async restore(panel: WebviewPanel, state: unknown): Promise<void> {
    this.adopt(panel);
    const kept = Shown.safeParse(state);
    if (!kept.success || kept.data.run_id === null || !this.services.vscode.workspace.isTrusted) return;
    await this.show(this.services.workspaces.at(kept.data.folder), kept.data.run_id, null);
  }

  private reveal(): void {
    if (this.panel !== null) return this.panel.reveal(undefined, true);
    const { window, l10n } = this.services.vscode;
    this.adopt(window.createWebviewPanel(panels.trace, l10n.t('Trace'), { viewColumn: panelColumn(this.services.vscode), preserveFocus: true }, { localResourceRoots: [pageRoot(this.services.vscode, this.extensionUri)] }));
  }

  private adopt(panel: WebviewPanel): void {
    this.panel?.dispose();
    this.panel = panel;
    panel.webview.onDidReceiveMessage((message: unknown) => { void this.receive(message); });
    // A hidden page is thrown away; when it is shown again it is new, says so, and is sent everything.
    panel.onDidDispose(() => {
      if (this.panel !== panel) return;
      this.panel = null;
      this.leave();
    });
    openPage(this.services.vscode, this.extensionUri, panel, { name: 'trace', title: t('Trace') });
  }

  private async follow(workspace: Workspace, run_id: string, step: number | null, open: string | null): Promise<void> {
    this.leave();
    const following = followRun(workspace, run_id, step, {
      changed: (change) => { if (this.following === following) this.note(change); },
      failed: (what, error) => { this.services.log.background(what, error); },
    });
    this.showing = { kind: 'run', following, open };
    this.pushAll();
    await following.begin(open);
    if (this.following === following) this.pushAll();
  }

  /** A trainer that was started again knows how the rollouts of the one before it ended. */
  private followAgain(): void {
    const { following } = this;
    if (following?.isLost !== true || following.workspace.supervisor.state.kind !== 'ready') return;
    this.follow(following.workspace, following.run_id, following.step, null).catch((error: unknown) => { this.services.log.background('The run could not be followed on', error); });
  }

  private leave(): void {
    this.following?.end();
    this.showing = null;
    this.selected = null;
    this.forgetChanges();
  }

  private get following(): Following | null { return this.showing?.kind === 'run' ? this.showing.following : null; }
  private get book(): TraceBook | null { return this.showing === null ? null : this.showing.kind === 'run' ? this.showing.following.book : this.showing.book; }

  private async receive(message: unknown): Promise<void> {
    const parsed = FromTrace.safeParse(message);
    if (!parsed.success) return;
    try {
      await this.handle(parsed.data);
    } catch (error) {
      await this.services.log.toast(error);
    }
  }

  private async handle(message: FromTrace): Promise<void> {
    const { services, following, book } = this;
    if (message.type === 'ready') return this.pushAll();
    if (book === null) return;
    switch (message.type) {
      case 'load': return following?.load(message.rollout_id);
      case 'step': return following === null ? undefined : this.follow(following.workspace, following.run_id, message.step, null);
      case 'cancel': return following === null ? undefined : cancelRun(services, following.workspace, message.run_id);
      case 'select': return this.select(message.rollout_id, message.span_id);
      case 'search': return this.post({ type: 'matches', text: message.text, keys: book.search(message.text) });
      case 'tokens': return this.pushTokens(message.rollout_id, message.span_id);
      case 'rule': return following === null ? undefined : this.pushCredit(message.rollout_id, await following.call('credit.set', { rollout_id: message.rollout_id, rule: message.rule }));
      case 'link': return following === null ? undefined : this.pushCredit(message.rollout_id, await following.call('credit.set', { rollout_id: message.rollout_id, links: { [message.span_id]: message.calls } }));
      case 'source': return goToSource(services, book, message.rollout_id, message.span_id);
      case 'curl': return copyCurl(services, book, message.rollout_id, message.span_id);
      case 'compare': {
        const comparison = await compareWith(services, book, following, message.rollout_id);
        return comparison === null ? undefined : this.post({ type: 'comparison', comparison });
      }
      case 'export': return exportOtlp(services, book, following, message.rollout_id);
      case 'replay': {
        if (following === null) return;
        const replay = await startReplay(services, book, following, message);
        if (replay === null) return;
        await following.addReplay(replay);
        const fresh = book.ids.findLast((id) => isReplayOf(book.rollout(id), message.rollout_id));
        this.pushChanges();
        if (fresh !== undefined) this.post({ type: 'select', rollout_id: fresh });
      }
    }
  }

  private async select(rollout_id: string, span_id: string | null): Promise<void> {
    const isOther = this.selected?.rollout_id !== rollout_id;
    this.selected = { rollout_id, span_id };
    this.pushDetail();
    if (isOther) await this.askCredit(rollout_id);
  }

  private async askCredit(rollout_id: string): Promise<void> {
    const { following } = this;
    if (following?.book.hasSpans(rollout_id) !== true) return;
    try {
      this.pushCredit(rollout_id, await following.call('credit.get', { rollout_id }));
    } catch (error) {
      this.services.log.background('The credit of a rollout could not be computed', error);
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

  private note(change: Change): void {
    for (const id of change.heads) this.heads.add(id);
    for (const id of change.reset) this.resets.add(id);
    for (const span of change.spans) this.spans.push(span);
    this.refresh();
  }

  private forgetChanges(): void {
    this.heads.clear();
    this.resets.clear();
    this.spans = [];
  }

  private pushAll(): void {
    const { showing, book } = this;
    this.forgetChanges();
    this.selected = null; // the page says anew what it selects
    if (showing === null || book === null) {
      this.post({ type: 'view', view: { header: null, source: 'run', rollouts: [], steps: [], step: null, open: null }, keep: null });
      return;
    }
    this.post({ type: 'view', view: this.view(showing, book), keep: showing.kind === 'run' ? { folder: showing.following.workspace.folder, run_id: showing.following.run_id } : null });
    for (const id of book.ids) this.pushRows(id);
  }

  private view(showing: Showing, book: TraceBook): TraceView {
    if (showing.kind === 'file') return { header: showing.header, source: 'file', rollouts: book.heads(), steps: [], step: null, open: book.ids[0] ?? null };
    const { following, open } = showing;
    const entry = following.workspace.book.entries.get(following.run_id);
    const steps = (entry?.steps ?? []).map((step) => ({ value: step.step, label: t('Step {0}', step.step + 1) }));
    return { header: entry === undefined ? null : runHeader(entry.run), source: 'run', rollouts: book.heads(), steps, step: following.step, open };
  }

  private pushHeader(): void {
    const entry = this.following?.workspace.book.entries.get(this.following.run_id);
    if (entry !== undefined) this.post({ type: 'header', header: runHeader(entry.run) });
  }

  /** New and changed lines alone, however long the tree is. */
  private pushChanges(): void {
    const { book, selected } = this;
    const [heads, resets, spans] = [[...this.heads], [...this.resets], this.spans];
    this.forgetChanges();
    if (book === null || this.panel?.visible !== true) return;
    if (heads.length > 0) this.post({ type: 'rollouts', rollouts: book.heads(heads) });
    for (const id of resets) this.pushRows(id);
    const byRollout = new Map<string, Span[]>();
    for (const span of spans) {
      if (resets.includes(span.rollout_id)) continue;
      const of = byRollout.get(span.rollout_id);
      if (of === undefined) byRollout.set(span.rollout_id, [span]);
      else of.push(span);
    }
    for (const [rollout_id, of] of byRollout) this.post({ type: 'spans', rollout_id, reset: false, spans: packRows(of.map(spanRow)) });
    if (selected === null) return;
    const { rollout_id, span_id } = selected;
    const isChanged = heads.includes(rollout_id) || resets.includes(rollout_id);
    if (isChanged || spans.some((span) => span.span_id === span_id)) this.pushDetail();
    if (isChanged || spans.some((span) => span.rollout_id === rollout_id && span.name === spanNames.reward)) void this.askCredit(rollout_id);
  }

  private pushRows(rollout_id: string): void {
    const rows = this.book?.rows(rollout_id);
    if (rows != null) this.post({ type: 'spans', rollout_id, reset: true, spans: packRows(rows) });
  }

  private pushDetail(): void {
    const { selected } = this;
    const detail = selected === null ? null : this.book?.detail(selected.rollout_id, selected.span_id);
    if (selected !== null && detail != null) this.post({ type: 'detail', key: selected.span_id === null ? selected.rollout_id : spanKey(selected.rollout_id, selected.span_id), detail });
  }

  private pushCredit(rollout_id: string, credit: TraceCredit): void {
    const { book } = this;
    this.post({ type: 'credit', rollout_id, credit: creditViewOf(credit, (span_id) => { const span = book?.span(rollout_id, span_id); return span === undefined ? t('LLM call') : callTitle(book, span); }) });
  }

  private async pushTokens(rollout_id: string, span_id: string): Promise<void> {
    const key = spanKey(rollout_id, span_id);
    try {
      const tokens = await this.following?.call('tokens.get', { rollout_id, span_id });
      if (tokens !== undefined) this.post({ type: 'tokens', key, tokens: { prompt: tokens.prompt, response: tokens.response, note: tokens.reason }, problem: null });
    } catch (error) {
      this.post({ type: 'tokens', key, tokens: null, problem: messageOf(error) });
    }
  }

  private post(message: ToTrace): void {
    if (this.panel?.visible === true) void this.panel.webview.postMessage(message);
  }
}

/** A call is known by the operation it was made in, where there is one. */
function callTitle(book: TraceBook | null, span: Span): string {
  const parent = span.parent_id === null ? undefined : book?.span(span.rollout_id, span.parent_id);
  return parent === undefined ? spanRow(span).title : `${spanRow(parent).title} · ${spanRow(span).title}`;
}
