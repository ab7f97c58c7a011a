import { createHash } from 'node:crypto';
import { contentOf } from '../datasets/canonical.ts';
import { assertDisjoint, splitTasks } from '../datasets/split.ts';
import type { Task } from '../datasets/tasks.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { Budget, OptimizeAlgorithm } from '../protocol/optimize.ts';

/** The tasks of a search. No two parts have a task of the same content. */
export interface Parts { train: Task[]; validation: Task[]; test: Task[] }

export interface Given { data: Task[]; validation: Task[] | null; test: Task[] | null }

/** Shares that are split off, and how much of the rollouts one run of a part may cost. */
const shares = { validation: { ofTasks: 0.3, ofRollouts: 0.1, least: 8, most: 50 }, test: { ofTasks: 0.3, ofRollouts: 0.12, least: 10, most: 100 } };

/**
 * The parts as given; what is missing is split off the data, repeatably and the same for every algorithm, in a size that the budget can
 * measure. A baseline needs no other part than the test. Throws TrainerError 'bad_input' for too few tasks, or a task in two files.
 */
export function partsOf({ data, validation, test }: Given, { algorithm, budget, seed }: { algorithm: OptimizeAlgorithm; budget: Budget; seed: number }): Parts {
  if (algorithm === 'baseline') return { train: [], validation: [], test: (test ?? data).slice(0, budget.rollouts) };
  const missing = 1 + [validation, test].filter((part) => part === null).length;
  const different = new Set(data.map(({ input }) => contentOf(input))).size;
  if (different < missing) throw new TrainerError('bad_input', `The data has ${different} different task(s), and a search needs at least ${missing}: one each to learn from${validation ? '' : ', to select with'}${test ? '' : ', to report on'}. Add tasks.`);
  const [rest, ofTest] = test ? [data, test] : splitOff(data, 'test', budget, seed, data.length);
  const [train, ofValidation] = validation ? [rest, validation] : splitOff(rest, 'validation', budget, seed, data.length);
  const parts: Parts = { train, validation: ofValidation, test: ofTest };
  const [twin] = [...assertDisjoint(train, ofTest), ...assertDisjoint(ofValidation, ofTest), ...assertDisjoint(train, ofValidation)];
  if (twin !== undefined) throw new TrainerError('bad_input', twin.replace('Validation task', 'Held-out task').replace('also training task', 'also task').replace('will flatter the training', 'would be too good'));
  return parts;
}

/** Tells whether the files still hold what a search began with. */
export function fingerprintOf(parts: Parts, texts: Record<string, string>): string {
  const tasks = Object.values(parts).map((part: Task[]) => part.map(({ id, input }) => [id, input]));
  return createHash('sha256').update(JSON.stringify([tasks, texts])).digest('hex');
}

function splitOff(tasks: Task[], part: keyof typeof shares, { rollouts }: Budget, seed: number, all: number): [Task[], Task[]] {
  const { ofTasks, ofRollouts, least, most } = shares[part];
  const affordable = rollouts === undefined ? most : Math.max(least, Math.round(rollouts * ofRollouts));
  const wanted = Math.min(Math.round(all * ofTasks), affordable);
  const { train, validation } = splitTasks(tasks, { validation_share: Math.min(0.99, Math.max(1, wanted) / tasks.length), seed });
  return [train, validation];
}
