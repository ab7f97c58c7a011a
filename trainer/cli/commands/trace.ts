import type { Command } from 'commander';
import pc from 'picocolors';
import { TrainerError } from '../../protocol/errors.ts';
import type { AttemptedRollout } from '../../protocol/rollout.ts';
import type { Run } from '../../protocol/run.ts';
import type { Span } from '../../protocol/span.ts';
import type { Store } from '../../store/store.ts';
import { decimal, oneLine, printable } from '../format.ts';
import { printJson, workspaceOf } from '../run-command.ts';
import { preview, spanTree } from '../trace-tree.ts';
import { openWorkspaceStore } from './runs.ts';

/** `trace RUN_OR_ROLLOUT`: what happened, as a tree. */
export function addTraceCommand(program: Command): void {
  program.command('trace')
    .description('show what a rollout did, or list the rollouts of a run')
    .argument('<run_or_rollout>')
    .option('--json', 'print one JSON object')
    .action((id: string, options: { json?: boolean }, command: Command) => {
      const store = openWorkspaceStore(workspaceOf(command));
      try {
        const found = find(store, id);
        const traces = found.rollouts.map((rollout) => ({ rollout, spans: store.listSpans(rollout.rollout_id), ...store.getLogs(rollout.rollout_id) }));
        if (found.more) process.stderr.write(`Only the first ${mostShown} rollouts of the run are shown. Give the id of another one to see it.\n`);
        if (options.json) return printJson(found.run_id === null ? traces[0] : { run_id: found.run_id, rollouts: traces });
        process.stdout.write(`${traces.length === 0 ? noRollouts(store.getRun(id)!) : traces.map(traceText).join('\n')}\n`);
      } finally {
        store.close();
      }
    });
}

const mostShown = 50;

function noRollouts({ run_id, status, error }: Run): string { return oneLine(`Run ${run_id} (${status}) has no rollouts.${error === null ? '' : ` ${error}`}`); }

/** A rollout alone (run_id null), or the first ones of a run. */
function find(store: Store, id: string): { run_id: string | null; rollouts: AttemptedRollout[]; more: boolean } {
  const rollout = store.getRollout(id);
  if (rollout) return { run_id: null, rollouts: [rollout], more: false };
  if (store.getRun(id)) {
    const rollouts = store.listRollouts({ run_id: id, limit: mostShown + 1 });
    return { run_id: id, rollouts: rollouts.slice(0, mostShown), more: rollouts.length > mostShown };
  }
  throw new TrainerError('not_found', `There is no run or rollout ${id} here. List the runs with: agent-trainer runs`);
}

function traceText(trace: { rollout: AttemptedRollout; spans: Span[]; stdout: string; stderr: string }): string {
  const { rollout, spans } = trace;
  const attempt = rollout.attempt;
  const outcome = attempt?.outcome ?? rollout.status;
  const color = outcome === 'scored' ? pc.green : outcome === 'unscored' || attempt === null ? pc.yellow : pc.red;
  const head = `${pc.bold(rollout.rollout_id)}  ${color(outcome)}  reward ${decimal(attempt?.reward)}  task ${oneLine(rollout.task_id ?? '–')}\n  ${preview(JSON.stringify(rollout.input))}`;
  const error = attempt?.error ? `\n  ${pc.red(oneLine(attempt.error))}` : '';
  const logs = (['stdout', 'stderr'] as const).map((name) => lastLines(name, trace[name])).join('');
  return `${head}${error}\n${spanTree(spans)}${logs}`;
}

function lastLines(name: string, log: string): string {
  const lines = printable(log).trim().split('\n').slice(-5);
  return log.trim() ? `\n  ${name}: ${lines.join(`\n${' '.repeat(name.length + 4)}`)}` : '';
}
