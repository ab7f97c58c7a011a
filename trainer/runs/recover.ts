import type { Run } from '../protocol/run.ts';
import type { Store } from '../store/store.ts';
import { livingOwner } from './owner.ts';
import { runFolder } from './session.ts';

export function isOver(run: Run): boolean {
  return run.status !== 'pending' && run.status !== 'running';
}

/** Marks the runs of dead trainers as interrupted and returns them. Runs of living trainers stay as they are. */
export function recoverRuns(store: Store, workspace: string): Run[] {
  return store.listRuns().filter((run) => !isOver(run) && livingOwner(runFolder(workspace, run.run_id)) === null).map((run) => {
    store.cancelRollouts({ run_id: run.run_id });
    const advice = run.kind === 'train' ? ` Continue it with: agent-trainer train --resume ${run.run_id}` : ' Start it again.';
    return store.updateRun(run.run_id, { status: 'interrupted', end_time: Date.now() / 1000, error: `The trainer ended while the run was going.${advice}` });
  });
}
