import type { Candidate, Part, TaskResult } from '../../../trainer/protocol/optimize.ts';
import type { TaskRow } from '../../../trainer/protocol/prompt-views.ts';
import { nothing, number } from '../format.ts';

/** What a candidate came to on one task, over all its rollouts of it. */
type TaskScore = Pick<TaskResult, 'part' | 'task_id' | 'reward' | 'outcome' | 'reason' | 'rollout_id'>;

const parts: Part[] = ['validation', 'train', 'test'];
const changes: TaskRow['change'][] = ['won', 'lost', 'same', 'open'];

const keyOf = ({ part, task_id }: Pick<TaskResult, 'part' | 'task_id'>): string => `${part} ${task_id}`;

/** By task: the mean of its scored rollouts; without one, how the latest ended. */
function taskScores(results: readonly TaskResult[]): Map<string, TaskScore> {
  const byTask = new Map<string, TaskResult[]>();
  for (const result of results) byTask.set(keyOf(result), [...byTask.get(keyOf(result)) ?? [], result]);
  return new Map([...byTask].map(([key, all]) => {
    const rewards = all.flatMap(({ reward }) => reward ?? []);
    const latest = all.findLast(({ reward }) => rewards.length === 0 || reward !== null) ?? all[0]!;
    return [key, { ...latest, reward: rewards.length === 0 ? null : rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length }];
  }));
}

/** The tasks a candidate has run beside what the original text came to: validation first, and there what changed first. */
export function taskRows(candidate: Candidate, original: Candidate, titles: ReadonlyMap<string, string>): TaskRow[] {
  const before = taskScores(original.results);
  const rows = [...taskScores(candidate.results)].map(([key, score]): TaskRow => {
    const baseline = before.get(key);
    return {
      task_id: score.task_id, title: titles.get(score.task_id) ?? score.task_id, part: score.part, baseline: scoreText(baseline), candidate: scoreText(score),
      change: changeOf(baseline?.reward ?? null, score.reward), reason: score.reason, rollout_id: score.rollout_id === '' ? null : score.rollout_id,
    };
  });
  return rows.sort((a, b) => parts.indexOf(a.part) - parts.indexOf(b.part) || changes.indexOf(a.change) - changes.indexOf(b.change));
}

/** On how many validation tasks a candidate does better, worse and as well. */
export function winsAndLosses(candidate: Candidate, original: Candidate): { wins: number; losses: number; ties: number } {
  const rows = taskRows(candidate, original, new Map()).filter(({ part }) => part === 'validation');
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
