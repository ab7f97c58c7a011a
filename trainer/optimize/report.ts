import type { Task } from '../datasets/tasks.ts';
import { compare } from '../evaluation/compare.ts';
import type { Candidate, OptimizeResult } from '../protocol/optimize.ts';
import type { Lab } from './lab.ts';
import type { Parts } from './parts.ts';
import { lead, taskScores } from './scores.ts';

/** Candidates that are measured once more, at most. */
const mostFinalists = 3;
/** Of the rollouts of a search. */
const shareAgain = 0.1;

/** Rollouts to be kept for the report: source and winner on the test tasks, and the finalists once more. */
export function reserveFor({ test, validation }: Parts, rollouts: number | undefined): number {
  return 2 * test.length + rolloutsAgain(validation, rollouts);
}

function rolloutsAgain(validation: readonly Task[], rollouts: number | undefined): number {
  return Math.min(mostFinalists * validation.length, Math.floor((rollouts ?? Infinity) * shareAgain));
}

/**
 * The winner on validation. The highest of many noisy scores is as a rule a lucky one, so candidates that the noise does not tell from
 * it are run on further tasks first: training tasks that none of them comes from, else the validation tasks with other seeds.
 */
export async function selectWinner(lab: Lab): Promise<Candidate> {
  const rollouts = rolloutsAgain(lab.validation, lab.meter.budget.rollouts);
  const completed = await completeLeader(lab, rollouts);
  const best = lab.best();
  const close = lab.pool.kept
    .filter((candidate) => candidate !== best && lab.validated(candidate))
    .map((candidate) => ({ candidate, ...lead(candidate, best, ['validation']) }))
    .filter(({ mean, error }) => mean + error >= 0)
    .sort((a, b) => b.mean - a.mean);
  const finalists = [best, ...close.map(({ candidate }) => candidate)].slice(0, mostFinalists);
  const each = Math.floor((rollouts - completed) / finalists.length);
  if (finalists.length === 1 || each < 2) return best;

  const seen = new Set(finalists.flatMap((candidate) => [candidate, ...lab.pool.ancestors(candidate)]).flatMap(({ results }) => results.flatMap(({ part, task_id }) => (part === 'train' ? [task_id] : []))));
  const unseen = lab.train.filter(({ id }) => !seen.has(id)).slice(0, Math.min(each, lab.validation.length));
  const fresh = unseen.length >= Math.min(each, lab.validation.length) ? unseen : [];
  for (const candidate of finalists) {
    if (fresh.length > 0) await lab.measure(candidate, 'train', fresh);
    else await lab.measure(candidate, 'validation', lab.validation.slice(0, each), 1);
  }
  const ahead = finalists.map((candidate) => (candidate === best ? 0 : leadOn(candidate, best, fresh)));
  return finalists[ahead.indexOf(Math.max(...ahead))] ?? best;
}

/** A candidate that the budget cut off on validation while it led is run on the rest, if `most` rollouts are enough. Returns how many that took. */
async function completeLeader(lab: Lab, most: number): Promise<number> {
  const best = lab.best();
  const missing = ({ results }: Candidate) => lab.validation.filter(({ id }) => !results.some(({ part, task_id }) => part === 'validation' && task_id === id)).length;
  const ahead = lab.pool.all
    .filter((candidate) => candidate.validation !== null && !lab.validated(candidate) && missing(candidate) <= most)
    .map((candidate) => ({ candidate, ...lead(candidate, best, ['validation']) }))
    .filter(({ mean }) => mean > 0)
    .sort((a, b) => b.mean - a.mean)[0]?.candidate;
  if (!ahead) return 0;
  const rollouts = missing(ahead);
  await lab.measure(ahead, 'validation', lab.validation);
  lab.pool.update(ahead, { status: 'kept' });
  return rollouts;
}

/** Over the validation tasks and the fresh ones, task by task. */
function leadOn(candidate: Candidate, rival: Candidate, fresh: readonly Task[]): number {
  const ids = new Set(fresh.map(({ id }) => id));
  const counted = (of: Candidate): Candidate => ({ ...of, results: of.results.filter(({ part, task_id }) => part === 'validation' || (part === 'train' && ids.has(task_id))) });
  return lead(counted(candidate), counted(rival), ['train', 'validation']).mean;
}

/** Source and winner on the held-out tasks, compared task by task. */
export async function heldOutReport(lab: Lab, winner: Candidate, test: readonly Task[]): Promise<Pick<OptimizeResult, 'baseline' | 'difference' | 'improved'> & { best: { score: number | null; n: number } }> {
  const source = lab.source();
  await lab.measure(source, 'test', test);
  if (winner !== source) await lab.measure(winner, 'test', test);
  const { before, after, difference, verdict } = compare(taskScores(source, 'test'), taskScores(winner, 'test'), lab.seed);
  return {
    baseline: { score: before.mean_reward, n: before.n },
    best: { score: after.mean_reward, n: after.n },
    difference: winner === source ? null : difference,
    improved: winner !== source && verdict?.word === 'better',
  };
}
