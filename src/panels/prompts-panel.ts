import type { Disposable, Uri, Webview, WebviewPanel, WebviewView } from 'vscode';
import { z } from 'zod';
import { messageOf } from '../../trainer/protocol/errors.ts';
import { FromPrompts } from '../../trainer/protocol/prompt-views.ts';
import type { ToPrompts } from '../../trainer/protocol/prompt-views.ts';
import type { PickedAgent } from '../agents/pick-agent.ts';
import { commands, panels, views } from '../ids.ts';
import { applyCandidate, chooseData, chooseModel, openPrompt, openTrace, scoreByHand, startSearch } from '../prompts/desk-actions.ts';
import { keyOf, PromptDesk } from '../prompts/prompt-desk.ts';
import type { OnDesk } from '../prompts/prompt-desk.ts';
import { continueRun, pauseRun } from '../runs/control-commands.ts';
import { cancelRun } from '../runs/stop-command.ts';
import type { Services } from '../services.ts';
import { resultOf } from '../views/prompts/search-result.ts';
import { patched } from '../views/prompts/setup-view.ts';
import type { Workspace } from '../workspace.ts';
import { coalesce } from './coalesce.ts';
import { fillPage, openPage, pageRoot, panelColumn } from './page.ts';

const Shown = z.object({ folder: z.string(), run_id: z.string().nullable() });

const refreshMs = 100;
/** After so long a pause in typing the prompts are read again. */
const settleMs = 400;

/** A place that shows the page: the view in the side bar, or an editor tab. */
interface Place { webview: Webview; visible(): boolean }

/** The prompt-tuning page, in the side bar and, when it is opened there, in an editor tab; both show the same. */
export class PromptsPanel implements Disposable {
  private readonly services: Services;
  private readonly extensionUri: Uri;
  private readonly desk: PromptDesk;
  private readonly places = new Set<Place>();
  private wide: WebviewPanel | null = null;
  private readonly refresh = coalesce(() => { this.push(); }, refreshMs);
  private readonly reread = coalesce(() => { void this.desk.readPrompts(); }, settleMs);
  private readonly subscriptions: Disposable[];

  constructor(services: Services, extensionUri: Uri) {
    this.services = services;
    this.extensionUri = extensionUri;
    this.desk = new PromptDesk(services, () => { this.refresh(); });
    const { workspace } = services.vscode;
    this.subscriptions = [
      services.workspaces.onChanged(() => { this.refresh(); }),
      services.finder.onChanged(() => { void this.chooseFirst(); this.refresh(); }),
      workspace.onDidChangeTextDocument(({ document }) => { if (document.uri.scheme === 'file' && this.isVisible()) this.reread(); }),
      workspace.onDidGrantWorkspaceTrust(() => { this.refresh(); }),
    ];
  }

  /** Fills the view in the side bar. */
  resolve(view: WebviewView): void {
    const { vscode } = this.services;
    fillPage(vscode, this.extensionUri, view.webview, { name: 'prompts', title: vscode.l10n.t('Prompts'), inSideBar: true });
    const place = this.adopt({ webview: view.webview, visible: () => view.visible });
    view.onDidChangeVisibility(() => { if (view.visible) void this.desk.readPrompts(); });
    view.onDidDispose(() => { this.places.delete(place); });
  }

  /** Shows an agent: a search of it, or (null) the set-up of a new one. */
  async show(agent: PickedAgent, run_id: string | null, candidate_id: string | null = null): Promise<void> {
    await this.reveal();
    const desk = this.desk.current !== null && keyOf(this.desk.current.agent) === keyOf(agent) ? this.desk.current : await this.desk.choose(agent);
    if (run_id !== null) await desk.workspace.searches.load(run_id);
    this.desk.look(run_id === null ? null : { run_id, candidate_id, base: 'source' });
  }

  /** Shows a search, and with it its agent. */
  async showRun(workspace: Workspace, run_id: string, candidate_id: string | null = null): Promise<void> {
    const { vscode } = this.services;
    const [, path = '', name = ''] = /^(.*?)(?::([^:/\\]*))?$/.exec(workspace.book.entries.get(run_id)?.run.agent ?? '') ?? [];
    await this.show({ file: vscode.Uri.joinPath(vscode.Uri.file(workspace.folder), path), name }, run_id, candidate_id);
  }

  /** Lets the next search change one prompt alone. */
  only(prompt_id: string): void {
    const { current } = this.desk;
    const ids = current?.prompts?.map((prompt) => prompt.prompt_id) ?? [];
    if (current !== null && ids.includes(prompt_id)) this.desk.set({ setup: { ...current.setup, left: ids.filter((id) => id !== prompt_id) } });
  }

  openWide(): void {
    const { window, l10n } = this.services.vscode;
    if (this.wide !== null) this.wide.reveal();
    else this.restore(window.createWebviewPanel(panels.prompts, l10n.t('Prompts'), panelColumn(this.services.vscode), { localResourceRoots: [pageRoot(this.services.vscode, this.extensionUri)] }), undefined);
  }

  /** Takes over an editor tab, perhaps one that VS Code restored. */
  restore(panel: WebviewPanel, state: unknown): void {
    this.wide?.dispose();
    this.wide = panel;
    openPage(this.services.vscode, this.extensionUri, panel, { name: 'prompts', title: this.services.vscode.l10n.t('Prompts') });
    const place = this.adopt({ webview: panel.webview, visible: () => panel.visible });
    panel.onDidChangeViewState(() => { if (panel.visible) this.push(); });
    panel.onDidDispose(() => {
      this.places.delete(place);
      if (this.wide === panel) this.wide = null;
    });
    const shown = Shown.safeParse(state);
    if (!shown.success || shown.data.run_id === null) return;
    const workspace = this.services.workspaces.at(shown.data.folder);
    const { run_id } = shown.data;
    workspace.supervisor.attach().then((there) => (there ? this.showRun(workspace, run_id) : undefined)).catch((error: unknown) => { this.services.log.background('The prompts panel could not be restored', error); });
  }

  dispose(): void {
    for (const subscription of [...this.subscriptions, this.refresh, this.reread]) subscription.dispose();
  }

  private adopt(place: Place): Place {
    this.places.add(place);
    place.webview.onDidReceiveMessage((message: unknown) => { void this.receive(place, message); });
    return place;
  }

  /** The tab if it is open, else the side bar. */
  private async reveal(): Promise<void> {
    if (this.wide !== null) this.wide.reveal(undefined, true);
    else await this.services.vscode.commands.executeCommand(`${views.prompts}.focus`);
  }

  private isVisible(): boolean {
    return [...this.places].some((place) => place.visible());
  }

  private push(): void {
    const view = this.desk.view(Date.now() / 1000);
    const { current } = this.desk;
    const keep = current === null ? null : { folder: current.workspace.folder, run_id: current.looking?.run_id ?? null };
    for (const place of this.places) if (place.visible()) void place.webview.postMessage({ type: 'view', view, keep } satisfies ToPrompts);
  }

  private async receive(place: Place, message: unknown): Promise<void> {
    const parsed = FromPrompts.safeParse(message);
    if (!parsed.success) return;
    const { services, desk } = this;
    try {
      if (parsed.data.type === 'ready') {
        this.push();
        await this.chooseFirst();
      } else if (parsed.data.type === 'agent') await this.chooseByKey(parsed.data.agent);
      else if (parsed.data.type === 'find-agents') await services.vscode.commands.executeCommand(commands.refreshAgents);
      else if (parsed.data.type === 'manage-trust') await services.vscode.commands.executeCommand('workbench.trust.manage');
      else if (desk.current !== null) await this.act(place, desk.current, parsed.data);
    } catch (error) {
      await services.log.toast(error);
    }
  }

  private async act(place: Place, current: OnDesk, message: Exclude<FromPrompts, { type: 'ready' | 'agent' | 'find-agents' | 'manage-trust' }>): Promise<void> {
    const { services, desk } = this;
    const { workspace, looking, setup } = current;
    switch (message.type) {
      case 'setup': return desk.set({ setup: patched(setup, message.patch) });
      case 'choose-data': return chooseData(services, desk, current, message.part);
      case 'split-off': return desk.set({ setup: { ...setup, [message.part]: null } });
      case 'choose-model': return chooseModel(services, desk, current, message.of);
      case 'start': return startSearch(services, desk, current);
      case 'open-prompt': return openPrompt(services, current, message.prompt_id);
      case 'select': return desk.look(looking === null ? null : { ...looking, candidate_id: message.candidate_id });
      case 'base': return desk.look(looking === null ? null : { ...looking, base: message.base });
      case 'show':
        if (message.run_id !== null) await workspace.searches.load(message.run_id);
        return desk.look(message.run_id === null ? null : { run_id: message.run_id, candidate_id: null, base: 'source' });
      case 'pause': return pauseRun(workspace, message.run_id);
      case 'resume': return continueRun(services, workspace, message.run_id);
      case 'cancel': return cancelRun(services, workspace, message.run_id);
      case 'finish': {
        workspace.book.put(await (await workspace.client()).call('optimize.finish', { run_id: message.run_id }));
        return;
      }
      case 'pin': {
        await (await workspace.client()).call('optimize.pin', { run_id: message.run_id, candidate_id: message.candidate_id, pinned: message.pinned });
        return workspace.searches.load(message.run_id, true);
      }
      case 'apply': return applyCandidate(services, current, message.run_id, message.candidate_id);
      case 'apply-run': {
        await workspace.searches.load(message.run_id);
        const run = workspace.book.entries.get(message.run_id)?.run;
        const best = run === undefined ? null : resultOf(run)?.best.candidate_id;
        return applyCandidate(services, current, message.run_id, message.which === 'original' ? 'c0' : best ?? 'c0');
      }
      case 'score': return this.score(place, current, message);
      case 'open-trace': return openTrace(services, current, message.run_id, message.rollout_id);
    }
  }

  /** What is wrong with the text is said beside it, where it can be mended. */
  private async score(place: Place, current: OnDesk, { run_id, candidate_id, texts }: Extract<FromPrompts, { type: 'score' }>): Promise<void> {
    let problem: string | null = null;
    try {
      this.desk.look({ run_id, candidate_id: await scoreByHand(this.services, current, run_id, candidate_id, texts), base: 'source' });
    } catch (error) {
      problem = messageOf(error);
    }
    void place.webview.postMessage({ type: 'scored', problem } satisfies ToPrompts);
  }

  /** Before anything was chosen: the agent of the active editor, else the first. */
  private async chooseFirst(): Promise<void> {
    if (this.desk.current !== null || !this.isVisible()) return;
    const { finder, vscode } = this.services;
    const agents = finder.wrapped();
    const active = vscode.window.activeTextEditor?.document.uri.toString();
    const agent = agents.find(({ file }) => file.toString() === active) ?? agents[0];
    if (agent !== undefined) await this.desk.choose(agent);
  }

  private async chooseByKey(key: string): Promise<void> {
    const agent = this.services.finder.wrapped().find((each) => keyOf(each) === key);
    if (agent !== undefined) await this.desk.choose(agent);
  }
}
