import { toTrajectories } from '../adapter/trajectories.ts';
import { toTransitions, type AdaptedRollout } from '../adapter/transitions.ts';
import type { GrpoConfig } from '../protocol/config.ts';
import type { TrainRow } from '../protocol/policy.ts';
import type { AttemptedRollout, Outcome } from '../protocol/rollout.ts';
import type { Funnel } from '../protocol/run.ts';
import type { Span } from '../protocol/span.ts';
import { groupAdvantages } from './advantages.ts';
import { FunnelCounter } from './funnel.ts';
import { outcomeOf } from './rollouts.ts';
import { trainRows, type AdvantagedRollout } from './rows.ts';

/** A finished rollout with the spans of its latest attempt. */
export interface TracedRollout { rollout: AttemptedRollout; spans: Span[] }

export interface TrainingBatch {
  rows: TrainRow[];
  /** Rewards of the scored rollouts (failed ones too, as 0, when `failed_rollouts` says so). */
  rewards: number[];
  groups: number;
  groups_without_variance: number;
  /** Lengths in tokens of the responses that are trained. */
  response_lengths: number[];
  funnel: Funnel;
}

type BatchConfig = Pick<GrpoConfig, 'scale_rewards' | 'loss_agg_mode' | 'agent_match' | 'trace_aggregation' | 'failed_rollouts'>;

const failures: ReadonlySet<Outcome> = new Set(['agent_error', 'timeout', 'context_overflow']);

/**
 * What a step learns from: the rollouts of each task (in the order given, so that runs repeat) become advantages at
 * rollout level and rows of tokens. Everything left out is counted in the funnel with its reason.
 */
export function trainingBatch(groups: readonly TracedRollout[][], config: BatchConfig): TrainingBatch {
  const funnel = new FunnelCounter();
  const learned: AdvantagedRollout[] = [];
  const rewards: number[] = [];
  const response_lengths: number[] = [];
  let groups_without_variance = 0;

  for (const group of groups) {
    const scored = group.flatMap(({ rollout, spans }) => {
      const adapted = toTransitions({ rollout, spans }, { agent_match: config.agent_match });
      const reward = rewardOf(rollout, config.failed_rollouts);
      countRollout(funnel, rollout, adapted, reward !== null);
      return reward === null ? [] : [{ rollout, reward, transitions: adapted.transitions }];
    });
    rewards.push(...scored.map(({ reward }) => reward));

    const advantages = groupAdvantages(scored.map(({ reward }) => reward), config.scale_rewards);
    if (advantages.kind === 'skipped') {
      if (advantages.reason === 'group without variance') groups_without_variance += 1;
      for (const { rollout, transitions } of scored) funnel.lose('used', advantages.reason, transitions.length, rollout.rollout_id);
      continue;
    }
    scored.forEach(({ transitions }, i) => {
      funnel.counts.used += transitions.length;
      response_lengths.push(...transitions.map((transition) => transition.response.length));
      learned.push({ advantage: advantages.values[i]!, trajectories: toTrajectories(transitions, config.trace_aggregation) });
    });
  }
  return { rows: trainRows(learned, config.loss_agg_mode), rewards, groups: groups.length, groups_without_variance, response_lengths, funnel: funnel.result() };
}

/** The reward a rollout trains with; null = it does not train. */
function rewardOf(rollout: AttemptedRollout, failed: GrpoConfig['failed_rollouts']): number | null {
  const outcome = outcomeOf(rollout);
  if (outcome === 'scored') return rollout.attempt?.reward ?? null;
  return failed === 'zero' && failures.has(outcome) ? 0 : null;
}

/** Follows the calls of one rollout from 'rollouts' to 'trainable'. */
function countRollout(funnel: FunnelCounter, rollout: AttemptedRollout, adapted: AdaptedRollout, scored: boolean): void {
  const { rollout_id } = rollout;
  const counts = funnel.counts;
  counts.rollouts += 1;
  counts.calls += adapted.calls;
  counts.with_token_ids += adapted.with_token_ids;
  // A rollout without a call has no call to lose later: its own outcome is the reason when it failed.
  if (adapted.calls === 0) funnel.lose('calls', scored ? 'no LLM call' : outcomeOf(rollout), 1, rollout_id);
  for (const { reason, count, stage } of adapted.losses) {
    if (stage === 'with_token_ids') funnel.lose(stage, reason, count, rollout_id);
    else if (scored) funnel.lose(stage, reason, count, rollout_id);
  }
  if (!scored) return funnel.lose('scored', outcomeOf(rollout), adapted.with_token_ids, rollout_id);
  counts.scored += adapted.with_token_ids;
  counts.trainable += adapted.transitions.length;
}
