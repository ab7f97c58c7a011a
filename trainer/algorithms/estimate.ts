import { groupAdvantages, whiten, type Estimation, type GroupAdvantages } from './advantages.ts';
import type { Sample } from './samples.ts';

/** KL of each response token from the reference (k1: logp - ref, nats), by the span id of its call. */
export type TokenKl = ReadonlyMap<string, readonly number[]>;

export interface RewardKl { coef: number; tokens: TokenKl }

/** Advantages of the response tokens of each sample, its calls one after the other; or why the group teaches nothing. */
export type TokenAdvantages =
  | { kind: 'advantages'; samples: number[][] }
  | { kind: 'skipped'; reason: Extract<GroupAdvantages, { kind: 'skipped' }>['reason'] | 'step without variance' };

/** Advantages of every group of a step, in their order. `kl` is taken off the rewards. */
export function estimateAdvantages(groups: readonly Sample[][], estimation: Estimation, kl: RewardKl | null): TokenAdvantages[] {
  switch (estimation.adv_estimator) {
    case 'grpo':
    case 'rloo': return groups.map((group) => perToken(group, compare(group, estimation, kl)));
    case 'reinforce_plus_plus_baseline': return whitened(groups.map((group) => {
      const found = compare(group, estimation, kl);
      // A group without variance is 0 before whitening, and part of its statistics, as in verl.
      return perToken(group, found.kind === 'skipped' && found.reason === 'group without variance' ? { kind: 'advantages', values: group.map(() => 0) } : found);
    }));
    case 'reinforce_plus_plus': return whitened(groups.map((group) => ({ kind: 'advantages', samples: group.map((sample) => returns(sample, kl)) })));
  }
}

function compare(group: readonly Sample[], estimation: Estimation, kl: RewardKl | null): GroupAdvantages {
  return groupAdvantages(group.map((sample) => sample.reward - klOf(sample, kl).reduce((sum, value) => sum + value, 0)), estimation);
}

function perToken(group: readonly Sample[], found: GroupAdvantages): TokenAdvantages {
  if (found.kind === 'skipped') return found;
  return { kind: 'advantages', samples: group.map((sample, i) => new Array<number>(tokenCount(sample)).fill(found.values[i]!)) };
}

/** What each token of a sample leads to: its reward, less the KL from the token on (undiscounted). */
function returns(sample: Sample, kl: RewardKl | null): number[] {
  if (!kl) return new Array<number>(tokenCount(sample)).fill(sample.reward);
  let rest = sample.reward;
  return klOf(sample, kl).toReversed().map((value) => (rest -= value)).toReversed();
}

/** Over the tokens of all groups that were not skipped. */
function whitened(groups: TokenAdvantages[]): TokenAdvantages[] {
  const white = whiten(groups.flatMap((group) => (group.kind === 'advantages' ? group.samples : [])));
  let at = 0;
  return groups.map((group) => {
    if (group.kind === 'skipped') return group;
    if (!white) return { kind: 'skipped', reason: 'step without variance' };
    return { kind: 'advantages', samples: white.slice(at, at += group.samples.length) };
  });
}

/** `coef`·KL of each response token. */
function klOf({ calls }: Sample, kl: RewardKl | null): number[] {
  return kl ? calls.flatMap(({ span_id, response }) => (kl.tokens.get(span_id) ?? response.map(() => 0)).map((value) => kl.coef * value)) : [];
}

function tokenCount({ calls }: Sample): number {
  return calls.reduce((sum, { response }) => sum + response.length, 0);
}
