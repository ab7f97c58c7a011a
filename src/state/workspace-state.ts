import { z } from 'zod';
import { RunKind, RunStatus } from '../../trainer/protocol/run.ts';
import type { Run } from '../../trainer/protocol/run.ts';
import { KeptFile } from './kept-file.ts';

/** What the extension remembers of a workspace: small, for people to read, and of no consequence when lost. */
const WorkspaceFile = z.object({
  version: z.literal(1),
  /** Agents as `path:name`, relative to the workspace. */
  agents: z.array(z.string()),
  /** By agent: what the last dry run used. */
  dry_runs: z.record(z.string(), z.object({ data: z.string(), policy: z.string().optional() })),
  /** By agent: the mean reward of its last run that has one. */
  rewards: z.record(z.string(), z.object({ mean: z.number(), create_time: z.number() })).default({}),
  /** Newest first. */
  runs: z.array(z.object({ run_id: z.string(), kind: RunKind, agent: z.string(), status: RunStatus, create_time: z.number() })),
});
type WorkspaceFile = z.infer<typeof WorkspaceFile>;

const rememberedRuns = 100;

export class WorkspaceState {
  private readonly file: KeptFile<WorkspaceFile>;

  private constructor(file: KeptFile<WorkspaceFile>) {
    this.file = file;
  }

  /** Opens `<folder>/.agent-trainer/workspace.json`. A file that cannot be read is set aside as workspace.json.bad, and told. */
  static async open(folder: string, warn: (message: string) => void): Promise<WorkspaceState> {
    return new WorkspaceState(await KeptFile.open<WorkspaceFile>(folder, 'workspace.json', WorkspaceFile, { version: 1, agents: [], dry_runs: {}, rewards: {}, runs: [] }, warn));
  }

  get agents(): readonly string[] { return this.file.data.agents; }
  get rewards(): Readonly<Record<string, { mean: number }>> { return this.file.data.rewards; }
  get runs(): WorkspaceFile['runs'] { return this.file.data.runs; }
  lastDryRun(agent: string): { data: string; policy?: string | undefined } | undefined { return this.file.data.dry_runs[agent]; }

  async rememberAgents(agents: string[]): Promise<void> {
    if (JSON.stringify(agents) === JSON.stringify(this.file.data.agents)) return;
    await this.file.update((data) => { data.agents = agents; });
  }

  async rememberDryRun(agent: string, settings: { data: string; policy?: string | undefined }): Promise<void> {
    await this.file.update((data) => { data.dry_runs[agent] = settings; });
  }

  async forgetRun(run_id: string): Promise<void> {
    await this.file.update((data) => { data.runs = data.runs.filter((run) => run.run_id !== run_id); });
  }

  /** An earlier run than the one noted is of no interest: runs are told in any order. */
  async rememberReward({ agent, create_time }: Run, mean: number): Promise<void> {
    const known = this.file.data.rewards[agent];
    if (known !== undefined && (known.create_time > create_time || (known.create_time === create_time && known.mean === mean))) return;
    await this.file.update((data) => { data.rewards[agent] = { mean, create_time }; });
  }

  async rememberRun(run: Run): Promise<void> {
    const { run_id, kind, agent, status, create_time } = run;
    await this.file.update((data) => {
      data.runs = [{ run_id, kind, agent, status, create_time }, ...data.runs.filter((other) => other.run_id !== run_id)]
        .sort((a, b) => b.create_time - a.create_time).slice(0, rememberedRuns);
    });
  }
}
