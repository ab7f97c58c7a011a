import type { AttemptedRollout } from '../../protocol/rollout.ts';

export interface TaskPair { before: AttemptedRollout; after: AttemptedRollout }

/** The rollouts of one task before and after training, in the order of `before`. Tasks seen on one side only are left out. */
export function pairByTask(before: AttemptedRollout[], after: AttemptedRollout[]): TaskPair[] {
  const byTask = new Map(after.map((rollout) => [rollout.task_id, rollout]));
  return before.flatMap((rollout) => {
    const other = byTask.get(rollout.task_id);
    return other ? [{ before: rollout, after: other }] : [];
  });
}

/** How many tasks went up, down, or stayed; a pair with an unscored side counts as `unscored`. */
export function countChanges(pairs: TaskPair[]): { won: number; lost: number; same: number; unscored: number } {
  const counts = { won: 0, lost: 0, same: 0, unscored: 0 };
  for (const pair of pairs) {
    const difference = change(pair);
    counts[difference === null ? 'unscored' : difference > 0 ? 'won' : difference < 0 ? 'lost' : 'same'] += 1;
  }
  return counts;
}

/** Up to `n` pairs to show: in task order, those whose reward changed first, then the rest. */
export function pickExamples(pairs: TaskPair[], n: number): TaskPair[] {
  const changed = pairs.filter((pair) => (change(pair) ?? 0) !== 0);
  const rest = pairs.filter((pair) => !changed.includes(pair));
  return [...changed, ...rest].slice(0, n);
}

function change(pair: TaskPair): number | null {
  const before = pair.before.attempt?.reward;
  const after = pair.after.attempt?.reward;
  return typeof before === 'number' && typeof after === 'number' ? after - before : null;
}
