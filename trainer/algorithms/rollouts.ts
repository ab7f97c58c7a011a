import type { Task } from '../datasets/tasks.ts';
import type { RunnerConfig } from '../protocol/config.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { Replay } from '../protocol/replay.ts';
import type { AttemptedRollout, Outcome, RolloutMode, SamplingOverrides } from '../protocol/rollout.ts';
import type { RolloutSummary } from '../protocol/run.ts';
import type { Store } from '../store/store.ts';

/** Where an algorithm's rollouts go, and what stops them. */
export interface RolloutSource {
  store: Store;
  run_id: string;
  /** Chat backend of the gateway that answers the agents' LLM calls. */
  backend: string;
  limits: Pick<RunnerConfig, 'timeout_seconds' | 'max_attempts'>;
  signal: AbortSignal;
}

/** One rollout to be made. */
export interface RolloutPlan {
  task: Task;
  mode: RolloutMode | null;
  step: number | null;
  sampling: SamplingOverrides;
  seed: number | null;
  metadata: Record<string, unknown>;
  resources_id?: string | null;
  /** The attempt it continues. */
  replay?: Replay;
}

/**
 * Enqueues the rollouts and waits until all have ended; the answer is in the order of `plans`, whatever finished first.
 * On abort the unfinished ones are cancelled. Throws TrainerError 'cancelled'.
 */
export async function rollOut(source: RolloutSource, plans: RolloutPlan[]): Promise<AttemptedRollout[]> {
  const { store, run_id, backend, limits, signal } = source;
  throwIfCancelled(signal);
  const rollouts = store.enqueueRollouts(plans.map(({ task, mode, step, sampling, seed, metadata, resources_id, replay }) => ({
    run_id, input: task.input, task_id: task.id, mode, step, metadata, resources_id,
    config: {
      backend, sampling, seed, ...(replay ? { replay } : {}),
      timeout_seconds: limits.timeout_seconds,
      max_attempts: limits.max_attempts,
      retry_condition: limits.max_attempts > 1 ? ['failed', 'timeout', 'unresponsive'] : [],
    },
  })));
  const ids = rollouts.map((rollout) => rollout.rollout_id);
  try {
    return await store.waitForRollouts(ids, { signal });
  } catch (error) {
    store.cancelRollouts({ rollout_ids: ids });
    throwIfCancelled(signal);
    throw error;
  }
}

/** Throws TrainerError 'cancelled' once the signal is aborted. */
export function throwIfCancelled(signal: AbortSignal): void {
  if (signal.aborted) throw new TrainerError('cancelled', 'The run was cancelled.', { cause: signal.reason });
}

/** How a finished rollout ended; one without an attempt was cancelled before it began. */
export function outcomeOf(rollout: AttemptedRollout): Outcome {
  return rollout.attempt?.outcome ?? (rollout.status === 'cancelled' ? 'cancelled' : 'infra_error');
}

/** Throws TrainerError 'environment' when not one rollout got as far as the agent: going on would measure nothing. */
export function requireWorking(rollouts: AttemptedRollout[]): void {
  const [first] = rollouts;
  if (first && rollouts.every((rollout) => outcomeOf(rollout) === 'infra_error')) {
    throw new TrainerError('environment', `All ${rollouts.length} rollouts failed for reasons outside the agent, the first (${first.rollout_id}) with: ${first.attempt?.error ?? 'no reason given'}`);
  }
}

/** The rollouts as lists and tables show them, with the number of spans of each. */
export function summarise(store: Store, rollouts: AttemptedRollout[]): RolloutSummary[] {
  const spans = store.countSpans(rollouts.map((rollout) => rollout.rollout_id));
  return rollouts.map((rollout) => ({
    rollout_id: rollout.rollout_id,
    status: outcomeOf(rollout),
    reward: rollout.attempt?.reward ?? null,
    spans: spans.get(rollout.rollout_id) ?? 0,
    error: rollout.attempt?.error ?? null,
  }));
}
