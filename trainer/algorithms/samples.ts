import { creditCalls } from '../adapter/credit.ts';
import type { Transition } from '../adapter/transitions.ts';
import type { GrpoConfig } from '../protocol/grpo-config.ts';
import type { Span } from '../protocol/span.ts';
import { overlongPenalty } from './overlong.ts';

/** What is compared with the others of its group: a rollout with all its calls, or one call. */
export interface Sample { reward: number; calls: Transition[] }

/** A rollout with a reward: of `transitions`, the calls that can be trained. */
export interface ScoredRollout { rollout_id: string; reward: number; failed: boolean; transitions: Transition[]; spans: readonly Span[] }

export type SampleConfig = Pick<GrpoConfig, 'credit' | 'overlong_buffer'> & { max_tokens: number | undefined };

/**
 * Samples of a rollout by the run's credit rule: with 'final' the rollout itself, with the others each call that a reward credits. A call that
 * cannot be trained is a sample without calls: it counts in the comparison. Every call of a failed rollout has the rollout's reward.
 * Penalties for length are taken off: of a rollout, that of its longest answer.
 */
export function samplesOf({ reward, failed, transitions, spans }: ScoredRollout, { credit, overlong_buffer, max_tokens }: SampleConfig): Sample[] {
  const penalised = (value: number, calls: Transition[]): Sample => ({ calls, reward: value + Math.min(0, ...calls.map(({ response }) => overlongPenalty(response.length, overlong_buffer, max_tokens))) });
  if (credit.kind === 'final') return [penalised(reward, transitions)];
  const bySpan = new Map(transitions.map((transition) => [transition.span_id, transition]));
  return creditCalls(spans, credit).calls.flatMap(({ span_id, credit: earned }) => {
    const value = failed ? reward : earned;
    const transition = bySpan.get(span_id);
    return value === null ? [] : [penalised(value, transition ? [transition] : [])];
  });
}
