import { isActive, RunBook } from './runs/run-book.ts';
import type { Log } from './log.ts';
import { WorkspaceState } from './state/workspace-state.ts';
import type { NodeProgram } from './trainer/find-node.ts';
import type { RpcClient } from './trainer/rpc-client.ts';
import { Supervisor } from './trainer/supervisor.ts';
import { lastReward } from './runs/last-reward.ts';
import type { Run } from '../trainer/protocol/run.ts';

export interface WorkspaceOptions { folder: string; cli: string; findNode: () => Promise<NodeProgram>; log: Log }

/** One folder with its trainer, the runs known of it and what the extension remembers of it. */
export class Workspace {
  readonly folder: string;
  readonly supervisor: Supervisor;
  readonly book = new RunBook();
  /** The run, and whether it ended just now. */
  onRunChanged: (run_id: string, ended: Run | null) => void = () => {};

  private readonly log: Log;
  private opened: Promise<WorkspaceState> | null = null;
  private readonly activeRuns = new Set<string>();

  constructor(options: WorkspaceOptions) {
    this.folder = options.folder;
    this.log = options.log;
    this.supervisor = new Supervisor({ ...options, prepare: (client) => this.prepare(client), onLost: () => { this.book.interrupt(); } });
    this.book.onChanged = (run_id) => { this.runChanged(run_id); };
  }

  client(): Promise<RpcClient> { return this.supervisor.client(); }

  /** What is remembered of this folder. Creates `.agent-trainer/`, so it is for trusted workspaces. */
  state(): Promise<WorkspaceState> {
    this.opened ??= WorkspaceState.open(this.folder, (message) => { this.log.warn(message); });
    return this.opened;
  }

  dispose(): void { this.supervisor.dispose(); }

  private async prepare(client: RpcClient): Promise<void> {
    client.onEvent = (event) => { this.book.apply(event); };
    await client.call('events.subscribe', { types: ['run', 'run-deleted', 'step', 'rollout', 'notice'] });
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
      this.state().then((state) => state.forgetRun(run_id)).catch((error: unknown) => { this.log.background('The run could not be taken out of workspace.json', error); });
      this.onRunChanged(run_id, null);
      return;
    }
    const wasActive = this.activeRuns.has(run_id);
    if (isActive(run)) this.activeRuns.add(run_id);
    else this.activeRuns.delete(run_id);
    const reward = lastReward(run, this.book.entries.get(run_id)?.steps ?? []);
    if (reward !== null) {
      this.state().then((state) => state.rememberReward(run, reward)).catch((error: unknown) => { this.log.background('The reward could not be noted in workspace.json', error); });
    }
    if (isActive(run) !== wasActive) {
      this.state().then((state) => state.rememberRun(run)).catch((error: unknown) => { this.log.background('The run could not be noted in workspace.json', error); });
    }
    this.onRunChanged(run_id, wasActive && !isActive(run) ? run : null);
  }
}
