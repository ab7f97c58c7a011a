import type { Run } from '../protocol/run.ts';
import type { Store } from '../store/store.ts';
import { livingOwner } from './owner.ts';
import { runFolder } from './session.ts';

export function isOver(run: Run): boolean {
  return run.status !== 'pending' && run.status !== 'running';
}

/** Whether a run of this kind can go on after it was interrupted. */
export function isResumable(kind: Run['kind']): boolean {
  return kind === 'train' || kind === 'optimize';
}

export function resumeCommand({ kind, run_id }: Pick<Run, 'kind' | 'run_id'>): string {
  return `agent-trainer ${kind} --resume ${run_id}`;
}

/** Marks the runs of dead trainers as interrupted and returns them. Runs of living trainers stay as they are. */
export function recoverRuns(store: Store, workspace: string): Run[] {
  return store.listRuns().filter((run) => !isOver(run) && livingOwner(runFolder(workspace, run.run_id)) === null).map((run) => {
    store.cancelRollouts({ run_id: run.run_id });
    const advice = isResumable(run.kind) ? ` Continue it with: ${resumeCommand(run)}` : ' Start it again.';
    return store.updateRun(run.run_id, { status: 'interrupted', pause: null, end_time: Date.now() / 1000, error: `The trainer ended while the run was going.${advice}` });
  });
}
