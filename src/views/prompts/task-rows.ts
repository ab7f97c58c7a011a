import type { Candidate, Optimization, TaskResult } from '../../../trainer/protocol/optimize.ts';
import type { TaskRow } from '../../../trainer/protocol/prompt-views.ts';
import { nothing, number } from '../format.ts';

/** What a candidate came to on one task, over all its rollouts of it. */
interface TaskScore { reward: number | null; outcome: string; rollout_id: string }

const parts: TaskRow['part'][] = ['validation', 'training', 'test'];
const changes: TaskRow['change'][] = ['won', 'lost', 'same', 'open'];

/** By task: the mean of its scored rollouts; without one, how the latest ended. */
export function taskScores(results: readonly TaskResult[]): Map<string, TaskScore> {
  const byTask = new Map<string, TaskResult[]>();
  for (const result of results) byTask.set(result.task_id, [...byTask.get(result.task_id) ?? [], result]);
  return new Map([...byTask].map(([task_id, all]) => {
    const rewards = all.flatMap(({ reward }) => reward ?? []);
    const latest = all.findLast(({ reward }) => rewards.length === 0 || reward !== null) ?? all[0]!;
    return [task_id, { reward: rewards.length === 0 ? null : rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length, outcome: latest.outcome, rollout_id: latest.rollout_id }];
  }));
}

/** The tasks a candidate has run beside what the original text came to: validation first, and there what changed first. */
export function taskRows(candidate: Candidate, original: Candidate, taskParts: Optimization['parts'], titles: ReadonlyMap<string, string>): TaskRow[] {
  const before = taskScores(original.results);
  const partOf = (task_id: string): TaskRow['part'] => (taskParts.validation.includes(task_id) ? 'validation' : taskParts.test.includes(task_id) ? 'test' : 'training');
  const rows = [...taskScores(candidate.results)].map(([task_id, score]): TaskRow => {
    const baseline = before.get(task_id);
    return {
      task_id, title: titles.get(task_id) ?? task_id, part: partOf(task_id), baseline: scoreText(baseline), candidate: scoreText(score),
      change: changeOf(baseline?.reward ?? null, score.reward), rollout_id: score.rollout_id === '' ? null : score.rollout_id,
    };
  });
  return rows.sort((a, b) => parts.indexOf(a.part) - parts.indexOf(b.part) || changes.indexOf(a.change) - changes.indexOf(b.change));
}

/** On how many validation tasks a candidate does better, worse and as well. */
export function winsAndLosses(candidate: Candidate, original: Candidate, taskParts: Optimization['parts']): { wins: number; losses: number; ties: number } {
  const rows = taskRows(candidate, original, taskParts, new Map()).filter(({ part }) => part === 'validation');
  const count = (change: TaskRow['change']): number => rows.filter((row) => row.change === change).length;
  return { wins: count('won'), losses: count('lost'), ties: count('same') };
}

function changeOf(before: number | null, after: number | null): TaskRow['change'] {
  if (before === null || after === null) return 'open';
  if (Math.abs(after - before) < 1e-9) return 'same';
  return after > before ? 'won' : 'lost';
}

function scoreText(score: TaskScore | undefined): string {
  if (score === undefined) return nothing;
  return score.reward === null ? score.outcome.replace('_', ' ') : number(score.reward, 2);
}
