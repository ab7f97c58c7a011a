import { mean, sampleStandardDeviation } from 'simple-statistics';
import type { UpdateMetrics } from '../protocol/policy.ts';
import type { StepMetrics } from '../protocol/run.ts';
import { attr, isLlmCall } from '../protocol/span.ts';
import type { TracedRollout, TrainingBatch } from './training-batch.ts';

interface StepFacts {
  step: number;
  lr: number;
  batch: TrainingBatch;
  /** null: nothing was trainable. */
  update: UpdateMetrics | null;
  val_reward: number | null;
  policy_version: number;
  rollouts: number;
  /** Tokens sampled in the step, trained or not. */
  generated_tokens: number;
  staleness: number | null;
  /** From the reference, where the reward has a KL term; else the loss tells. */
  kl: number | null;
  rollout_s: number;
  train_s: number;
  eta_s: number;
}

/** The record of one step. What was not measured is null, not 0. */
export function stepMetrics({ batch, update, rollouts, generated_tokens, ...facts }: StepFacts): StepMetrics {
  const { rewards, response_lengths } = batch;
  return {
    ...facts,
    reward_mean: rewards.length === 0 ? null : mean(rewards),
    reward_std: rewards.length < 2 ? null : sampleStandardDeviation(rewards),
    groups: batch.groups,
    groups_without_variance: batch.groups_without_variance,
    updated: update !== null,
    loss: update?.loss ?? null,
    kl: update?.kl ?? facts.kl,
    entropy: update?.entropy ?? null,
    clip_fraction: update?.clip_fraction ?? null,
    grad_norm: update?.grad_norm ?? null,
    ratio_deviation: update?.ratio_deviation ?? null,
    logprob_max_diff: update?.logprob_max_diff ?? null,
    response_tokens_mean: response_lengths.length === 0 ? null : mean(response_lengths),
    trained_tokens: update?.trained_tokens ?? 0,
    rollouts_per_s: rollouts / facts.rollout_s,
    tokens_per_s: generated_tokens / facts.rollout_s,
    funnel: batch.funnel,
  };
}

/**
 * Updates of the policy between the sampling of the calls and `version`, mean over those that name theirs; 0 on-policy.
 * null: none does.
 */
export function staleness(traced: readonly TracedRollout[], version: number): number | null {
  const ages = traced.flatMap(({ spans }) => spans.filter(isLlmCall)).flatMap((span) => {
    const sampledBy = span.attributes[attr.policyVersion];
    return typeof sampledBy === 'number' ? [version - sampledBy] : [];
  });
  return ages.length === 0 ? null : mean(ages);
}

/** Tokens the model generated in these rollouts. */
export function generatedTokens(traced: readonly TracedRollout[]): number {
  return traced.flatMap(({ spans }) => spans.filter(isLlmCall)).reduce((sum, span) => {
    const tokens = span.attributes[attr.outputTokens];
    return sum + (typeof tokens === 'number' ? tokens : 0);
  }, 0);
}
