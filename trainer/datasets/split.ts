import { TrainerError } from '../protocol/errors.ts';
import { contentOf, sha256 } from './canonical.ts';
import type { Task } from './tasks.ts';

export interface Split { train: Task[]; validation: Task[] }

/**
 * Splits tasks at random, repeatably: the order of the file does not matter, and a task keeps its rank when others are added.
 * Tasks of the same content stay together, so none is on both sides. Both sides keep the order given; neither is empty.
 * Throws TrainerError 'bad_input' when all tasks are the same.
 */
export function splitTasks(tasks: readonly Task[], { validation_share, seed }: { validation_share: number; seed: number }): Split {
  const groups = new Map<string, Task[]>();
  for (const task of tasks) {
    const content = contentOf(task.input);
    const group = groups.get(content);
    if (group) group.push(task);
    else groups.set(content, [task]);
  }
  if (groups.size < 2) throw new TrainerError('bad_input', 'The tasks cannot be split into training and validation: there are not two different ones. Add tasks, or give a validation file.');

  const rank = (content: string) => sha256(`${seed}\n${content}`);
  const ranked = [...groups].map(([content, group]) => ({ group, rank: rank(content) })).sort((a, b) => (a.rank < b.rank ? -1 : 1)).map(({ group }) => group);
  const wanted = Math.max(1, Math.round(tasks.length * validation_share));
  const chosen = new Set<Task>();
  for (const group of ranked.slice(0, -1)) {
    if (chosen.size === 0 || chosen.size + group.length <= wanted) group.forEach((task) => chosen.add(task));
  }
  return { train: tasks.filter((task) => !chosen.has(task)), validation: tasks.filter((task) => chosen.has(task)) };
}

/** A warning for each validation task that is also trained on (same content, whatever its id). Empty: the sides are disjoint. */
export function assertDisjoint(train: readonly Task[], validation: readonly Task[]): string[] {
  const trained = new Map(train.map((task) => [contentOf(task.input), task]));
  return validation.flatMap((task) => {
    const twin = trained.get(contentOf(task.input));
    return twin ? [`Validation task ${task.id} (line ${task.line}) is also training task ${twin.id} (line ${twin.line}): its score will flatter the training. Remove it from one side.`] : [];
  });
}
