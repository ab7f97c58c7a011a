import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { openStore, type Store } from '../../store/store.ts';
import { TrainerError } from '../../protocol/errors.ts';
import { OptimizeResult } from '../../protocol/optimize.ts';
import type { Run } from '../../protocol/run.ts';
import { recoverRuns } from '../../runs/recover.ts';
import { decimal, duration, table } from '../format.ts';
import { stepText } from '../funnel-text.ts';
import { resultText } from '../result-text.ts';
import { integerArgument, printJson, workspaceOf } from '../run-command.ts';

/** `runs [RUN]`: every run of the workspace, newest first; or what one of them found and where the samples of a step went. */
export function addRunsCommand(program: Command): void {
  program.command('runs')
    .description('list the runs of the workspace, or show what one found')
    .argument('[run]')
    .option('--step <n>', 'show where the samples of this step went, or what it learned from examples (default: the last one)', integerArgument('--step'))
    .option('--json', 'print one JSON object')
    .action((runId: string | undefined, options: { json?: boolean; step?: number }, command: Command) => {
      const store = openWorkspaceStore(workspaceOf(command));
      try {
        if (runId !== undefined) {
          const run = knownRun(store, runId);
          if (options.json) return printJson(run);
          const outcome = run.status === 'succeeded' ? resultText(run) : `${run.run_id} ${run.status}${run.error ? `: ${run.error}` : ''}`;
          const steps = store.listSteps(run.run_id);
          const step = options.step === undefined ? steps.at(-1) : steps.find((each) => each.step + 1 === options.step);
          if (options.step !== undefined && !step) throw new TrainerError('not_found', `Run ${runId} has no step ${options.step}; it has ${steps.length}.`);
          return void process.stdout.write(`${[outcome, ...(step ? [stepText(step)] : [])].join('\n\n')}\n`);
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
  if (run.kind === 'optimize' && run.result) {
    const { baseline, best } = OptimizeResult.parse(run.result);
    return best.candidate_id === 'c0' ? decimal(baseline.score) : `${decimal(baseline.score)} → ${decimal(best.score)}`;
  }
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
