import type { Task } from '../datasets/tasks.ts';
import type { Candidate, GepaConfig } from '../protocol/optimize.ts';
import type { Lab } from './lab.ts';
import { paretoFront } from './pareto.ts';
import type { Pool, Texts } from './pool.ts';
import { draw } from './random.ts';
import { rewardsOf, scoreIn } from './scores.ts';

/** Validation tasks that a merge must do well on before it is run on all. */
const trialTasks = 5;

/** Joins candidates that are best on different tasks, one attempt after each candidate that was kept. */
export class Merges {
  readonly #lab: Lab;
  readonly #config: GepaConfig;
  readonly #tried = new Set<string>();
  #due = false;
  #accepted = 0;

  constructor(lab: Lab, config: GepaConfig) {
    this.#lab = lab;
    this.#config = config;
  }

  due(): void {
    this.#due = this.#config.use_merge && this.#lab.prompts.length > 1 && this.#accepted < this.#config.max_merge_invocations;
  }

  /** Makes a merge if one is due and two candidates complement each other. Returns whether one was run. */
  async attempt(iteration: number): Promise<boolean> {
    const { pool, prompts } = this.#lab;
    if (!this.#due) return false;
    this.#due = false;
    const pair = this.#pair(iteration);
    if (!pair) return false;
    const [a, b] = pair.parents;
    const child = pool.add({ parents: [a, b], origin: 'merge', round: iteration, texts: pair.texts, critique: `Joins what ${a.candidate_id} and ${b.candidate_id} changed in ${prompts.length} prompts.` });
    const tasks = balancedTasks(this.#lab.validation, a, b, trialTasks);
    const results = await this.#lab.evaluate(child, 'validation', tasks);
    const sum = (rewards: (number | null)[]) => rewards.reduce<number>((total, reward) => total + (reward ?? 0), 0);
    const ofParent = (parent: Candidate) => sum(tasks.map(({ id }) => rewardsOf(parent, 'validation').get(id) ?? null));
    const passed = sum(results.map(({ reward }) => reward)) >= Math.max(ofParent(a), ofParent(b));
    if (!passed) pool.update(child, { status: 'dropped' });
    else if (await this.#lab.validate(child, betterOf(a, b))) this.#accepted += 1;
    return true;
  }

  #pair(iteration: number): { parents: [Candidate, Candidate]; texts: Texts } | null {
    const { pool, seed } = this.#lab;
    const front = paretoFront(pool.kept).map(({ item }) => item);
    const pairs = front.flatMap((a, i) => front.slice(i + 1).map((b): [Candidate, Candidate] => [a, b])).flatMap((parents) => {
      const key = parents.map(({ candidate_id }) => candidate_id).join(' ');
      const texts = this.#tried.has(key) ? null : mergedTexts(...parents, pool);
      return texts === null || pool.withTexts(texts) ? [] : [{ key, parents, texts }];
    });
    const chosen = pairs.length === 0 ? null : pairs[draw(pairs.length, seed, 'merge', iteration)]!;
    if (chosen) this.#tried.add(chosen.key);
    return chosen;
  }
}

/**
 * Texts that take from two candidates what each has improved over a common ancestor: of every prompt the text that changed, and
 * where both changed it the better candidate's. null: there is nothing to gain, because one descends from the other, every
 * common ancestor is better than one of them, or the outcome is one of the two.
 */
export function mergedTexts(a: Candidate, b: Candidate, pool: Pool): Texts | null {
  const [ofA, ofB] = [pool.ancestors(a), pool.ancestors(b)];
  if (ofA.includes(b) || ofB.includes(a)) return null;
  const common = ofA.filter((each) => ofB.includes(each) && meanOf(each) <= Math.min(meanOf(a), meanOf(b)));
  const ancestor = common.sort((x, y) => meanOf(y) - meanOf(x))[0];
  if (!ancestor) return null;
  const better = betterOf(a, b);
  const texts = Object.fromEntries(Object.entries(ancestor.texts).map(([id, old]) => {
    const [textA, textB] = [a.texts[id] ?? old, b.texts[id] ?? old];
    return [id, textA === old ? textB : textB === old ? textA : better.texts[id] ?? old];
  }));
  return [a, b].some((parent) => Object.entries(texts).every(([id, text]) => parent.texts[id] === text)) ? null : texts;
}

/** Up to `n` tasks, in turn of those that `a` does better, those that `b` does better, and those they do alike. */
export function balancedTasks(tasks: readonly Task[], a: Candidate, b: Candidate, n: number): Task[] {
  const [ofA, ofB] = [rewardsOf(a, 'validation'), rewardsOf(b, 'validation')];
  const difference = ({ id }: Task) => (ofA.get(id) ?? 0) - (ofB.get(id) ?? 0);
  const kinds = [tasks.filter((task) => difference(task) > 0), tasks.filter((task) => difference(task) < 0), tasks.filter((task) => difference(task) === 0)];
  const inTurn = Array.from({ length: tasks.length }, (_, i) => kinds.flatMap((kind) => kind[i] ?? [])).flat();
  return inTurn.slice(0, n);
}

function meanOf(candidate: Candidate): number {
  return scoreIn(candidate, 'validation')?.mean_reward ?? -Infinity;
}

function betterOf(a: Candidate, b: Candidate): Candidate {
  return meanOf(b) > meanOf(a) ? b : a;
}
