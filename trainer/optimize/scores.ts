import { standardError } from '../evaluation/bootstrap.ts';
import { scoreOf, type TaskScore } from '../evaluation/compare.ts';
import type { Candidate, Part } from '../protocol/optimize.ts';
import type { Score } from '../protocol/run.ts';

/** Mean reward of each task that a candidate has run in a part, over its rollouts with a score; null: none had one. In the order they were run. */
export function rewardsOf({ results }: Candidate, part: Part): Map<string, number | null> {
  const rewards = new Map<string, (number | null)[]>();
  for (const { part: of, task_id, reward } of results) {
    if (of !== part) continue;
    const known = rewards.get(task_id);
    if (known) known.push(reward);
    else rewards.set(task_id, [reward]);
  }
  return new Map([...rewards].map(([task_id, all]) => [task_id, scoreOf(all).mean_reward]));
}

/** Over the tasks of a part; null when it has run none. */
export function scoreIn(candidate: Candidate, part: Part): Score | null {
  const rewards = rewardsOf(candidate, part);
  return rewards.size === 0 ? null : scoreOf([...rewards.values()]);
}

export function taskScores(candidate: Candidate, part: Part): TaskScore[] {
  return [...rewardsOf(candidate, part)].map(([task_id, reward]) => ({ task_id, reward }));
}

/** Over the tasks that both have a score on: n of them, the mean of `candidate` - `rival` and its standard error. */
export function lead(candidate: Candidate, rival: Candidate, parts: readonly Part[]): { n: number; mean: number; error: number } {
  const differences = parts.flatMap((part) => {
    const theirs = rewardsOf(rival, part);
    return [...rewardsOf(candidate, part)].flatMap(([task_id, reward]) => {
      const other = theirs.get(task_id) ?? null;
      return reward === null || other === null ? [] : [reward - other];
    });
  });
  const n = differences.length;
  return { n, mean: n === 0 ? 0 : differences.reduce((sum, each) => sum + each, 0) / n, error: standardError(differences) };
}
