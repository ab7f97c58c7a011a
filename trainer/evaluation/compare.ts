import { mean } from 'simple-statistics';
import type { Difference, Score } from '../protocol/run.ts';
import { bootstrapInterval, standardError } from './bootstrap.ts';
import { mcnemarExact } from './mcnemar.ts';
import { signFlipTest } from './sign-flip.ts';

/** What one task earned; null = it could not be scored on this side. */
export interface TaskScore { task_id: string; reward: number | null }

export interface Comparison {
  /** Over the tasks scored on both sides, so that after - before is the difference. */
  before: Score;
  after: Score;
  difference: Difference | null;
  verdict: Verdict | null;
  won: number;
  lost: number;
  tied: number;
  /** Tasks left out because a side has no score. */
  excluded: string[];
}

export type Verdict =
  | { word: 'better' | 'worse' }
  /** `smallest_effect`: the difference this comparison would have found 8 times of 10. */
  | { word: 'no difference shown'; smallest_effect: number };

const powerFactor = 7.849; // (z_0.975 + z_0.8)^2: 5 % level, 80 % power

/**
 * Paired comparison over the tasks present on both sides. 95 % interval: bootstrap over tasks; p-value: exact McNemar
 * when every reward is 0 or 1, else sign-flip. `difference` is null when fewer than two tasks are scored on both sides.
 */
export function compare(before: readonly TaskScore[], after: readonly TaskScore[], seed = 0): Comparison {
  const afterByTask = new Map(after.map((score) => [score.task_id, score.reward]));
  const pairs: [number, number][] = [];
  const excluded: string[] = [];
  for (const { task_id, reward } of before) {
    const other = afterByTask.get(task_id) ?? null;
    if (reward === null || other === null) excluded.push(task_id);
    else pairs.push([reward, other]);
  }
  const beforeIds = new Set(before.map((score) => score.task_id));
  excluded.push(...after.filter((score) => !beforeIds.has(score.task_id)).map((score) => score.task_id));

  const differences = pairs.map(([old, now]) => now - old);
  const won = differences.filter((difference) => difference > 0).length;
  const lost = differences.filter((difference) => difference < 0).length;
  const difference = pairs.length < 2 ? null : {
    mean: mean(differences),
    ci95: bootstrapInterval(differences, seed),
    p_value: pairs.flat().every((reward) => reward === 0 || reward === 1) ? mcnemarExact(lost, won) : signFlipTest(differences, seed),
  };
  return {
    before: scoreOf(pairs.map(([old]) => old)),
    after: scoreOf(pairs.map(([, now]) => now)),
    difference,
    verdict: difference && verdict(difference, differences),
    won, lost, tied: pairs.length - won - lost,
    excluded,
  };
}

/**
 * better: the interval lies above 0 and p < 0.05; worse: below 0 and p < 0.05; else no difference shown, with the smallest
 * effect that would have been. Both, because the percentile interval is too narrow for a handful of tasks: three lost of six
 * give an interval below 0 at p = 0.25.
 */
export function verdict({ ci95: [low, high], p_value }: Difference, differences: readonly number[]): Verdict {
  if (p_value < 0.05 && low > 0) return { word: 'better' };
  if (p_value < 0.05 && high < 0) return { word: 'worse' };
  return { word: 'no difference shown', smallest_effect: Math.sqrt(powerFactor) * standardError(differences) };
}

/** Mean over the scored values; null when there is none. */
export function scoreOf(rewards: readonly (number | null)[]): Score {
  const scored = rewards.filter((reward) => reward !== null);
  return { mean_reward: scored.length === 0 ? null : mean(scored), n: scored.length };
}
