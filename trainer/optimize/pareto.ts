import type { Candidate } from '../protocol/optimize.ts';
import { rewardsOf, scoreIn } from './scores.ts';

/** For each validation task the candidates that are best on it. Tasks without a score are left out. */
export function frontByTask(candidates: readonly Candidate[]): Map<string, Candidate[]> {
  const best = new Map<string, { reward: number; candidates: Candidate[] }>();
  for (const candidate of candidates) {
    for (const [task_id, reward] of rewardsOf(candidate, 'validation')) {
      if (reward === null) continue;
      const now = best.get(task_id);
      if (!now || reward > now.reward) best.set(task_id, { reward, candidates: [candidate] });
      else if (reward === now.reward) now.candidates.push(candidate);
    }
  }
  return new Map([...best].map(([task_id, { candidates: ofTask }]) => [task_id, ofTask]));
}

/**
 * The Pareto front: candidates that some task needs. One is left out when on every task it is best on, another one is too that
 * stays; the weakest on average go first. `weight`: on how many tasks it is best.
 */
export function paretoFront(candidates: readonly Candidate[]): { item: Candidate; weight: number }[] {
  const byTask = [...frontByTask(candidates).values()];
  const meanOf = (candidate: Candidate) => scoreIn(candidate, 'validation')?.mean_reward ?? -Infinity;
  const staying = new Set(byTask.flat());
  for (const candidate of [...staying].sort((a, b) => meanOf(a) - meanOf(b))) {
    const needed = byTask.some((ofTask) => ofTask.includes(candidate) && !ofTask.some((other) => other !== candidate && staying.has(other)));
    if (!needed) staying.delete(candidate);
  }
  return candidates.filter((candidate) => staying.has(candidate)).map((item) => ({ item, weight: byTask.filter((ofTask) => ofTask.includes(item)).length }));
}
