import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { openStore, type Store } from '../../store/store.ts';
import { TrainerError } from '../../protocol/errors.ts';
import type { Run } from '../../protocol/run.ts';
import { recoverRuns } from '../../runs/recover.ts';
import { decimal, duration, table } from '../format.ts';
import { resultText } from '../result-text.ts';
import { printJson, workspaceOf } from '../run-command.ts';

/** `runs [RUN]`: every run of the workspace, newest first; or what one of them found. */
export function addRunsCommand(program: Command): void {
  program.command('runs')
    .description('list the runs of the workspace, or show what one found')
    .argument('[run]')
    .option('--json', 'print one JSON object')
    .action((runId: string | undefined, options: { json?: boolean }, command: Command) => {
      const store = openWorkspaceStore(workspaceOf(command));
      try {
        if (runId !== undefined) {
          const run = knownRun(store, runId);
          if (options.json) return printJson(run);
          return void process.stdout.write(run.status === 'succeeded' ? `${resultText(run)}\n` : `${run.run_id} ${run.status}${run.error ? `: ${run.error}` : ''}\n`);
        }
        const runs = store.listRuns();
        if (options.json) return printJson({ runs });
        process.stdout.write(runs.length === 0 ? 'No runs yet. Start one with: agent-trainer dev AGENT --data FILE\n' : `${table([['run', 'kind', 'status', 'reward', 'time', 'agent'], ...runs.map(row)])}\n`);
      } finally {
        store.close();
      }
    });
}

/** The run, or an error that says how to find one. */
export function knownRun(store: Store, runId: string): Run {
  const run = store.getRun(runId);
  if (!run) throw new TrainerError('not_found', `There is no run ${runId} here. List the runs with: agent-trainer runs`);
  return run;
}

function row(run: Run): string[] {
  const seconds = (run.end_time ?? Date.now() / 1000) - run.create_time;
  return [run.run_id, run.kind, run.status, rewardOf(run), duration(seconds), run.agent];
}

function rewardOf(run: Run): string {
  const result = run.result as { mean_reward?: number | null; before?: { mean_reward: number | null }; after?: { mean_reward: number | null }; policy?: { mean_reward: number | null } } | null;
  if (result?.before && result.after) return `${decimal(result.before.mean_reward)} → ${decimal(result.after.mean_reward)}`;
  return decimal(result?.policy?.mean_reward ?? result?.mean_reward);
}

/** Opens the workspace's store for reading, with the runs of killed trainers marked as such; says so when there is none. */
export function openWorkspaceStore(workspace: string): Store {
  const file = path.join(workspace, '.agent-trainer', 'trainer.db');
  if (!existsSync(file)) throw new TrainerError('not_found', `${workspace} has no runs yet (no ${path.relative(workspace, file)}). Start one with: agent-trainer dev AGENT --data FILE, or name the folder with --workspace.`);
  const store = openStore(file);
  recoverRuns(store, workspace);
  return store;
}
