import type { Run, RunPhase, RunStatus } from '../../trainer/protocol/run.ts';
import type { RunHeader } from '../../trainer/protocol/views.ts';

const kinds = { train: 'Training', dev: 'Dry run', eval: 'Evaluation', optimize: 'Prompt search' } as const;

export const phases: Record<RunPhase, string> = {
  starting: 'Starting',
  'self-check': 'Checking that calls, tokens and rewards arrive',
  'evaluating-before': 'Measuring held-out tasks before training',
  training: 'Training',
  'evaluating-after': 'Measuring held-out tasks after training',
  rollouts: 'Running the agent',
  searching: 'Searching for better prompts',
  reporting: 'Measuring held-out tasks',
  done: 'Done',
};

const ends: Record<Exclude<RunStatus, 'running'>, string> = {
  pending: 'Waiting to start',
  succeeded: 'Finished',
  failed: 'Failed',
  cancelled: 'Cancelled',
  interrupted: 'Interrupted: the trainer ended under it',
};

export function runHeader(run: Run): RunHeader {
  return {
    run_id: run.run_id,
    title: `${kinds[run.kind]} of ${run.agent}`,
    status: run.pause === 'paused' ? 'paused' : run.status,
    statusText: statusText(run),
    error: run.error,
    canCancel: run.status === 'running' || run.status === 'pending',
  };
}

/** What it does, or how it ended. */
export function statusText(run: Run): string {
  if (run.status !== 'running') return ends[run.status];
  if (run.pause === 'paused') return `Paused · ${phases[run.phase]}`;
  return run.pause === 'pausing' ? 'Pausing: what is under way finishes first' : phases[run.phase];
}

/** A training run that ended before its end can go on after its last checkpoint, a search where it was. */
export function isResumable(run: Run): boolean {
  return (run.kind === 'train' || run.kind === 'optimize') && ['failed', 'cancelled', 'interrupted'].includes(run.status);
}
