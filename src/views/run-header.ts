import type { Run, RunPhase, RunStatus } from '../../trainer/protocol/run.ts';
import type { RunHeader } from '../../trainer/protocol/views.ts';

const kinds = { train: 'Training', dev: 'Dry run', eval: 'Evaluation' } as const;

export const phases: Record<RunPhase, string> = {
  starting: 'Starting',
  'self-check': 'Checking that calls, tokens and rewards arrive',
  'evaluating-before': 'Measuring held-out tasks before training',
  training: 'Training',
  'evaluating-after': 'Measuring held-out tasks after training',
  rollouts: 'Running the agent',
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
    status: run.status,
    statusText: run.status === 'running' ? phases[run.phase] : ends[run.status],
    error: run.error,
    canCancel: run.status === 'running' || run.status === 'pending',
  };
}
