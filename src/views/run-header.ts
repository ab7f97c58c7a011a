import { t } from '../../trainer/protocol/l10n.ts';
import type { Run, RunPhase, RunStatus } from '../../trainer/protocol/run.ts';
import type { RunHeader } from '../../trainer/protocol/views.ts';

function titleOf({ kind, agent }: Run): string {
  switch (kind) {
    case 'train': return t('Training of {0}', agent);
    case 'dev': return t('Dry run of {0}', agent);
    case 'eval': return t('Evaluation of {0}', agent);
    case 'optimize': return t('Prompt search for {0}', agent);
  }
}

const phases = (): Record<RunPhase, string> => ({
  starting: t('Starting'),
  'self-check': t('Checking that calls, tokens and rewards arrive'),
  'evaluating-before': t('Measuring held-out tasks before training'),
  training: t('Training'),
  'evaluating-after': t('Measuring held-out tasks after training'),
  rollouts: t('Running the agent'),
  searching: t('Searching for better prompts'),
  reporting: t('Measuring held-out tasks'),
  done: t('Done'),
});

const ends = (): Record<Exclude<RunStatus, 'running'>, string> => ({
  pending: t('Waiting to start'),
  succeeded: t('Finished'),
  failed: t('Failed'),
  cancelled: t('Cancelled'),
  interrupted: t('Interrupted: the trainer ended under it'),
});

export function runHeader(run: Run): RunHeader {
  return {
    run_id: run.run_id,
    title: titleOf(run),
    status: run.pause === 'paused' ? 'paused' : run.status,
    statusText: statusText(run),
    error: run.error,
    canCancel: run.status === 'running' || run.status === 'pending',
  };
}

/** What it does, or how it ended. */
export function statusText(run: Run): string {
  if (run.status !== 'running') return ends()[run.status];
  if (run.pause === 'paused') return t('Paused · {0}', phases()[run.phase]);
  return run.pause === 'pausing' ? t('Pausing: what is under way finishes first') : phases()[run.phase];
}

/** A training run that ended before its end can go on after its last checkpoint, a search where it was. */
export function isResumable(run: Run): boolean {
  return (run.kind === 'train' || run.kind === 'optimize') && ['failed', 'cancelled', 'interrupted'].includes(run.status);
}
