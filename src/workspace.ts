import type { HubToken } from './models/hub-token.ts';
import { SearchBook } from './prompts/search-book.ts';
import { isActive, RunBook } from './runs/run-book.ts';
import type { Log } from './log.ts';
import type { WorkspaceState } from './state/workspace-state.ts';
import type { NodeProgram } from './trainer/find-node.ts';
import type { RpcClient } from './trainer/rpc-client.ts';
import { Supervisor } from './trainer/supervisor.ts';
import { TrainerError } from '../trainer/protocol/errors.ts';
import type { Optimization } from '../trainer/protocol/optimize.ts';
import type { Run } from '../trainer/protocol/run.ts';

/** Older searches are read when they are looked at. */
const searchesRead = 20;

export interface WorkspaceOptions { folder: string; cli: string; findNode: () => Promise<NodeProgram>; hubToken: HubToken; log: Log }

/** One folder with its trainer, the runs known of it and what the extension remembers of it. */
export class Workspace {
  readonly folder: string;
  readonly supervisor: Supervisor;
  readonly book = new RunBook();
  readonly searches = new SearchBook((run_id) => this.readSearch(run_id));
  /** The run, and whether it ended just now. */
  onRunChanged: (run_id: string, ended: Run | null) => void = () => {};

  private readonly log: Log;
  private readonly hubToken: HubToken;
  private opened: Promise<WorkspaceState> | null = null;
  private readonly activeRuns = new Set<string>();

  constructor(options: WorkspaceOptions) {
    this.folder = options.folder;
    this.log = options.log;
    this.hubToken = options.hubToken;
    this.supervisor = new Supervisor({ ...options, prepare: (client) => this.prepare(client), onLost: () => { this.book.interrupt(); } });
    this.book.onChanged = (run_id) => { this.runChanged(run_id); };
    this.searches.onChanged = (run_id) => { this.onRunChanged(run_id, null); };
  }

  client(): Promise<RpcClient> { return this.supervisor.client(); }

  /** Hands the token for the Hugging Face hub to the trainer, if one runs: a new one gets it as it starts. */
  async tellHubToken(): Promise<void> {
    const { state } = this.supervisor;
    if (state.kind === 'ready') await state.client.call('hub.set_token', { token: await this.hubToken.get() });
  }

  /** Takes over what has become of the runs, those of other processes included, which tell this one nothing. */
  async readRuns(): Promise<void> {
    const client = await this.client();
    for (const run of await client.call('runs.list', {})) {
      const known = this.book.entries.get(run.run_id)?.run;
      if (JSON.stringify(run) !== JSON.stringify(known)) this.book.put(run);
    }
  }

  /** What is remembered of this folder. Changes create `.agent-trainer/`, so it is for trusted workspaces. */
  state(): Promise<WorkspaceState> {
    this.opened ??= this.open();
    return this.opened;
  }

  dispose(): void { this.supervisor.dispose(); }

  private async open(): Promise<WorkspaceState> {
    const { WorkspaceState } = await import('./state/workspace-state.ts');
    return WorkspaceState.open(this.folder, (message) => { this.log.warn(message); });
  }

  private async prepare(client: RpcClient): Promise<void> {
    client.onEvent = (event) => {
      this.book.apply(event);
      this.searchTold(this.searches.apply(event));
    };
    await client.call('events.subscribe', { types: ['run', 'run-deleted', 'step', 'candidate', 'rollout', 'notice'] });
    const token = await this.hubToken.get();
    if (token !== null) await client.call('hub.set_token', { token });
    for (const run of await client.call('runs.list', {})) {
      if (isActive(run)) {
        const { run: current, steps } = await client.call('runs.get', { run_id: run.run_id });
        this.book.put(current, steps);
      } else this.book.put(run);
    }
  }

  private runChanged(run_id: string): void {
    const run = this.book.entries.get(run_id)?.run;
    if (run === undefined) { // deleted
      this.activeRuns.delete(run_id);
      this.remember('The run could not be taken out of workspace.json', (state) => state.forgetRun(run_id));
      this.onRunChanged(run_id, null);
      return;
    }
    const wasActive = this.activeRuns.has(run_id);
    if (isActive(run)) this.activeRuns.add(run_id);
    else this.activeRuns.delete(run_id);
    const steps = this.book.entries.get(run_id)?.steps ?? [];
    this.remember('The reward could not be noted in workspace.json', async (state) => {
      const { lastReward } = await import('./runs/last-reward.ts');
      const reward = lastReward(run, steps);
      if (reward !== null) await state.rememberReward(run, reward);
    });
    if (run.kind === 'optimize' && this.isRecentSearch(run_id)) this.searchTold(this.searches.load(run_id, wasActive && !isActive(run)));
    if (isActive(run) !== wasActive) this.remember('The run could not be noted in workspace.json', (state) => state.rememberRun(run));
    this.onRunChanged(run_id, wasActive && !isActive(run) ? run : null);
  }

  /** null: it has no record yet. */
  private async readSearch(run_id: string): Promise<Optimization | null> {
    try {
      return await (await this.client()).call('optimize.get', { run_id });
    } catch (error) {
      if (error instanceof TrainerError && error.code === 'not_found') return null;
      throw error;
    }
  }

  private isRecentSearch(run_id: string): boolean {
    return this.book.list().filter(({ run }) => run.kind === 'optimize').slice(0, searchesRead).some(({ run }) => run.run_id === run_id);
  }

  private searchTold(told: Promise<void>): void {
    told.catch((error: unknown) => { this.log.background('A search for prompts could not be read', error); });
  }

  private remember(failure: string, work: (state: WorkspaceState) => Promise<void>): void {
    this.state().then(work).catch((error: unknown) => { this.log.background(failure, error); });
  }
}
