import type { Attempt, AttemptStatus, Outcome, Rollout, RolloutStatus } from '../protocol/rollout.ts';

const terminal: readonly RolloutStatus[] = ['succeeded', 'failed', 'cancelled'];
const open: readonly AttemptStatus[] = ['preparing', 'running', 'unresponsive'];

/** A terminal rollout stays as it is, but for a `failed` one whose attempt was only `unresponsive` and gives a sign of life. */
export function isTerminal(status: RolloutStatus): boolean {
  return terminal.includes(status);
}

/** An open attempt still takes its one result; `unresponsive` is open, because the agent may only have been silent. */
export function isOpen(attempt: Attempt): boolean {
  return open.includes(attempt.status);
}

/** The state of a rollout follows from its latest attempt, except `cancelled`, which only an explicit act sets. */
export function derivedStatus(rollout: Rollout, latest: Attempt | null): RolloutStatus {
  if (rollout.status === 'cancelled' || latest?.outcome === 'cancelled') return 'cancelled';
  if (!latest) return 'queuing';
  if (latest.status === 'preparing' || latest.status === 'running' || latest.status === 'succeeded') return latest.status;
  const retry = rollout.config.retry_condition.includes(latest.status) && latest.sequence_id < rollout.config.max_attempts;
  return retry ? 'requeuing' : 'failed';
}

/** What an outcome makes of its attempt. An agent that ran to its end succeeded as an attempt, with or without a reward. */
export function attemptStatusOf(outcome: Outcome): AttemptStatus {
  if (outcome === 'scored' || outcome === 'unscored') return 'succeeded';
  return outcome === 'timeout' ? 'timeout' : 'failed';
}

/** Why an attempt is not `scored`, when whoever ended it gave no reason of its own. */
export const defaultReason: Record<Exclude<Outcome, 'scored'>, string> = {
  unscored: 'The agent finished without a reward.',
  agent_error: 'The agent failed.',
  infra_error: 'The attempt failed for a reason outside the agent.',
  timeout: 'The attempt took longer than its time limit.',
  cancelled: 'The rollout was cancelled.',
  context_overflow: 'A call of the agent did not fit the context of the model.',
};
