import { toTrajectories } from '../adapter/trajectories.ts';
import { toTransitions, type AdaptedRollout } from '../adapter/transitions.ts';
import type { TrainConfig } from '../protocol/config.ts';
import type { GrpoConfig } from '../protocol/grpo-config.ts';
import type { TrainRow } from '../protocol/policy.ts';
import type { AttemptedRollout, Outcome } from '../protocol/rollout.ts';
import type { Funnel } from '../protocol/run.ts';
import type { Span } from '../protocol/span.ts';
import { allEqual, type Estimation } from './advantages.ts';
import { estimateAdvantages, type RewardKl, type TokenAdvantages } from './estimate.ts';
import { FunnelCounter } from './funnel.ts';
import { outcomeOf } from './rollouts.ts';
import { trainRows, type AdvantagedRollout, type Aggregation } from './rows.ts';
import { samplesOf, type Sample, type SampleConfig, type ScoredRollout } from './samples.ts';

/** A finished rollout with the spans of its latest attempt. */
export interface TracedRollout { rollout: AttemptedRollout; spans: Span[] }

export interface TrainingBatch {
  /** Rows of each optimiser step of an epoch. */
  mini_batches: TrainRow[][];
  /** Rewards of the scored rollouts (failed ones too, as 0, when `failed_rollouts` says so). */
  rewards: number[];
  groups: number;
  groups_without_variance: number;
  /** Lengths in tokens of the responses that are trained. */
  response_lengths: number[];
  funnel: Funnel;
}

type BatchConfig = Estimation & SampleConfig & Aggregation & Pick<GrpoConfig, 'filter_groups' | 'ppo_mini_batch_size' | 'agent_match' | 'trace_aggregation' | 'failed_rollouts'>;

const failures: ReadonlySet<Outcome> = new Set(['agent_error', 'timeout', 'context_overflow']);

/** The settings of a batch in a run's configuration. */
export function batchConfig({ grpo, sampling: { max_tokens } }: Pick<TrainConfig, 'grpo' | 'sampling'>): BatchConfig {
  return { ...grpo, max_tokens, loss_scale_factor: grpo.loss_scale_factor ?? max_tokens };
}

/**
 * What a step learns from: the rollouts of each task (in the order given, so that runs repeat) become samples, advantages
 * of tokens, and rows. Everything left out is counted in the funnel with its reason.
 */
export function trainingBatch(groups: readonly TracedRollout[][], config: BatchConfig, kl: RewardKl | null = null): TrainingBatch {
  const funnel = new FunnelCounter();
  const rewards: number[] = [];
  const response_lengths: number[] = [];
  const learned: AdvantagedRollout[][] = [];
  let groups_without_variance = 0;

  const scored = groups.map((group) => group.flatMap((traced) => scoredRollout(traced, config, funnel)));
  rewards.push(...scored.flat().map(({ reward }) => reward));
  const samples = scored.map((group) => group.map((rollout) => samplesOf(rollout, config)));
  const filtered = scored.map((group) => (config.filter_groups.enable ? sameReward(group, config) : null));
  const advantages = estimateAdvantages(samples.map((group, g) => (filtered[g] ? [] : group.flat())), config, kl);

  scored.forEach((group, g) => {
    const found: TokenAdvantages = filtered[g] ? { kind: 'skipped', reason: filtered[g] } : advantages[g]!;
    if (found.kind === 'skipped') {
      if (found.reason === 'group without variance') groups_without_variance += 1;
      for (const { rollout_id, transitions } of group) funnel.lose('used', found.reason, transitions.length, rollout_id);
      return;
    }
    const values = found.samples.values();
    learned.push(group.map(({ rollout_id, transitions }, i) => {
      const byCall = new Map(samples[g]![i]!.flatMap((sample) => byCallOf(sample, values.next().value!)));
      const used = transitions.filter(({ span_id }) => byCall.has(span_id));
      funnel.lose('used', 'no reward credits the call', transitions.length - used.length, rollout_id);
      funnel.counts.used += used.length;
      response_lengths.push(...used.map((transition) => transition.response.length));
      return { advantages: byCall, trajectories: toTrajectories(used, config.trace_aggregation) };
    }));
  });
  const mini_batches = chunks(learned, config.ppo_mini_batch_size ?? learned.length).map((part) => trainRows(part.flat(), config)).filter((rows) => rows.length > 0);
  return { mini_batches, rewards, groups: groups.length, groups_without_variance, response_lengths, funnel: funnel.result() };
}

/** Whether the rewards of a finished group, as the agent gave them, differ: what dynamic sampling keeps. */
export function hasVariance(group: readonly TracedRollout[], config: BatchConfig): boolean {
  return sameReward(group.flatMap((traced) => scoredRollout(traced, config, new FunnelCounter())), config) === null;
}

function sameReward(group: readonly ScoredRollout[], config: BatchConfig): 'group of one' | 'group without variance' | null {
  const rewards = group.flatMap((rollout) => samplesOf(rollout, { ...config, overlong_buffer: { ...config.overlong_buffer, len: 0 } })).map(({ reward }) => reward);
  if (rewards.length < 2) return 'group of one';
  return allEqual(rewards) ? 'group without variance' : null;
}

/** The advantages of a sample's tokens, call by call. */
function byCallOf({ calls }: Sample, advantages: readonly number[]): [string, number[]][] {
  let at = 0;
  return calls.map(({ span_id, response }) => [span_id, advantages.slice(at, at += response.length)]);
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) || 0 }, (_, i) => items.slice(i * size, (i + 1) * size));
}

/** A finished rollout as it enters the comparison, counted; nothing when it has no reward. */
function scoredRollout({ rollout, spans }: TracedRollout, config: BatchConfig, funnel: FunnelCounter): ScoredRollout[] {
  const adapted = toTransitions({ rollout, spans }, { agent_match: config.agent_match });
  const reward = rewardOf(rollout, config.failed_rollouts);
  countRollout(funnel, rollout, adapted, reward !== null);
  return reward === null ? [] : [{ rollout_id: rollout.rollout_id, reward, failed: outcomeOf(rollout) !== 'scored', transitions: adapted.transitions, spans }];
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
