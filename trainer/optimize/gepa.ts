/**
 * GEPA: reflective evolution of prompts (arXiv 2507.19457). A parent is drawn from the Pareto front of the validation tasks, run on a
 * few training tasks, and one of its prompts is rewritten from what happened there. A child that does strictly better on the same
 * tasks is run on the validation tasks and joins. Beyond the paper: no rollout is paid for twice, a
 * reflection also sees what else is known of the parent, and a child that falls behind its parent on validation is given up early.
 */
import { tasksOfStep } from '../algorithms/batches.ts';
import type { Task } from '../datasets/tasks.ts';
import { scoreOf } from '../evaluation/compare.ts';
import type { Candidate, GepaConfig, TaskResult } from '../protocol/optimize.ts';
import type { Lab } from './lab.ts';
import { Merges } from './merge.ts';
import { paretoFront } from './pareto.ts';
import type { Proposer } from './proposer.ts';
import { drawWeighted } from './random.ts';

/** Iterations in a row that bring no new candidate to run, after which nothing more can be expected. */
const fruitless = 30;

/** Searches until the budget ends it (SearchOver), nothing is left to win, or nothing new comes. */
export async function gepa(lab: Lab, proposer: Proposer, config: GepaConfig): Promise<void> {
  await lab.validateSource();
  const merges = new Merges(lab, config);
  const uses = new Map<Candidate, number>(); // as a parent
  let batches = 0;
  let barren = 0;
  for (let iteration = 1; barren < fruitless && !lab.solved; iteration++) {
    if (await merges.attempt(iteration)) continue;
    const parent = drawWeighted(front(lab), lab.seed, 'parent', iteration);
    const use = uses.get(parent) ?? 0;
    uses.set(parent, use + 1);
    const batch = tasksOfStep(batches++, lab.train.length, config.reflection_minibatch_size, lab.seed).map((position) => lab.train[position]!);
    const results = await lab.evaluate(parent, 'train', batch);
    const prompt = lab.prompts[(use + lab.pool.ancestors(parent).length) % lab.prompts.length]!; // each prompt in turn
    const child = results.every(({ reward }) => lab.isPerfect(reward)) ? null : await proposer.reflect(parent, prompt, lab.evidence(parent, results), { round: iteration, branch: 0 });
    barren = child ? 0 : barren + 1;
    if (!child) continue;
    if (!(await beats(lab, child, results, batch))) lab.pool.update(child, { status: 'dropped' });
    else if (await lab.validate(child, parent)) merges.due();
  }
}

/** Parents to draw from. A pinned candidate has the chance of the best. */
function front({ pool }: Lab): { item: Candidate; weight: number }[] {
  const drawn = paretoFront(pool.kept);
  const most = Math.max(1, ...drawn.map(({ weight }) => weight));
  const others = pool.all.filter((candidate) => candidate.pinned && candidate.validation && !drawn.some(({ item }) => item === candidate));
  return [...drawn.map(({ item, weight }) => ({ item, weight: item.pinned ? most : weight })), ...others.map((item) => ({ item, weight: most }))];
}

/** Whether the sum over the tasks that both have a score on is strictly higher. */
async function beats(lab: Lab, child: Candidate, ofParent: readonly TaskResult[], batch: readonly Task[]): Promise<boolean> {
  const ofChild = await lab.evaluate(child, 'train', batch);
  const pairs = ofChild.flatMap(({ reward }, i) => (reward === null || ofParent[i]!.reward === null ? [] : [{ child: reward, parent: ofParent[i]!.reward }]));
  const [mean, before] = [scoreOf(pairs.map((pair) => pair.child)).mean_reward, scoreOf(pairs.map((pair) => pair.parent)).mean_reward];
  lab.pool.update(child, { minibatch: { child: mean, parent: before, n: pairs.length } });
  return mean !== null && before !== null && mean > before;
}
