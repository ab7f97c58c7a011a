import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { messageOf, TrainerError } from '../../protocol/errors.ts';
import { TrainResult } from '../../protocol/run.ts';
import { reportHtml, type ReportRollout } from '../report/report-html.ts';
import { pairByTask, pickExamples } from '../report/pairs.ts';
import { workspaceOf } from '../run-command.ts';
import { knownRun, openWorkspaceStore } from './runs.ts';
import type { Store } from '../../store/store.ts';
import type { AttemptedRollout } from '../../protocol/rollout.ts';

/** `report RUN --out FILE`: a training run as one self-contained page. */
export function addReportCommand(program: Command): void {
  program.command('report')
    .description('write a training run as one HTML page')
    .argument('<run>')
    .option('--out <file>', 'where to write it', 'report.html')
    .action((runId: string, options: { out: string }, command: Command) => {
      const store = openWorkspaceStore(workspaceOf(command));
      try {
        const run = knownRun(store, runId);
        const result = TrainResult.safeParse(run.result);
        if (run.kind !== 'train' || !result.success) throw new TrainerError('conflict', `Run ${runId} is not a finished training run (it is a ${run.kind} run, ${run.status}), so there is nothing to report yet.`);
        const evaluated = store.listRollouts({ run_id: runId, mode: 'val' });
        const pairs = pairByTask(ofSide(evaluated, 'before'), ofSide(evaluated, 'after'));
        const examples = pickExamples(pairs, 3).map((pair) => ({ before: withSpans(store, pair.before), after: withSpans(store, pair.after) }));
        write(options.out, reportHtml({ run, result: result.data, steps: store.listSteps(runId), pairs, examples }));
        process.stderr.write(`Report: ${path.resolve(options.out)}\n`);
      } finally {
        store.close();
      }
    });
}

function write(file: string, html: string): void {
  try {
    writeFileSync(file, html);
  } catch (error) {
    throw new TrainerError('bad_input', `The report cannot be written (${messageOf(error)}). Give another file with --out.`, { cause: error });
  }
}

/** The counted rollouts of one side; a task that was run again counts with its last one. */
function ofSide(rollouts: AttemptedRollout[], side: 'before' | 'after'): AttemptedRollout[] {
  const byTask = new Map(rollouts.filter((rollout) => rollout.metadata?.evaluation === side).map((rollout) => [rollout.task_id, rollout]));
  return [...byTask.values()];
}

function withSpans(store: Store, rollout: AttemptedRollout): ReportRollout {
  return { rollout, spans: store.listSpans(rollout.rollout_id) };
}
