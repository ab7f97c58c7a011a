/**
 * Automatic prompt optimisation with textual gradients and beam search (arXiv 2305.03495), with the defaults of Agent Lightning v0.3.
 * Each round every prompt of the beam gets children: a critique of some training rollouts, and the edit it asks for. The best on a
 * batch of validation tasks are the next beam; its leader is run on all of them. Unlike there, the batch stays the same, so that
 * survivors need not be run again; equal children are run once; children that are clearly behind run only a part of the batch; and a
 * round has fewer children when the budget would not last for all.
 */
import { tasksOfStep } from '../algorithms/batches.ts';
import type { Task } from '../datasets/tasks.ts';
import { scoreOf } from '../evaluation/compare.ts';
import type { ApoConfig, Candidate } from '../protocol/optimize.ts';
import type { Lab } from './lab.ts';
import { SearchOver } from './meter.ts';
import type { Proposer } from './proposer.ts';

/** Searches for `beam_rounds`, unless the budget ends it (SearchOver) or nothing is left to win. */
export async function apo(lab: Lab, proposer: Proposer, config: ApoConfig): Promise<void> {
  const tasks = lab.validation.slice(0, config.val_batch_size);
  await lab.validateSource();
  let beam = [lab.source()];
  let batches = 0;
  for (let round = 1; round <= config.beam_rounds && !lab.solved; round++) {
    const children: Candidate[] = [];
    const count = Math.min(config.beam_width * config.branch_factor, affordable(lab, config, tasks.length));
    if (count < 1) throw new SearchOver('budget');
    for (let branch = 0; branch < count; branch++) {
      const parent = beam[branch % beam.length]!;
      const batch = tasksOfStep(batches++, lab.train.length, config.gradient_batch_size, lab.seed).map((position) => lab.train[position]!);
      const results = await lab.evaluate(parent, 'train', batch);
      if (results.every(({ reward }) => lab.isPerfect(reward))) continue; // no fault to learn from
      const child = await proposer.gradient(parent, lab.prompts[branch % lab.prompts.length]!, lab.evidence(parent, results), { round, branch });
      if (child) children.push(child);
    }
    beam = await nextBeam(lab, [...beam, ...children], tasks, config.beam_width);
    await lab.validate(beam[0]!, null);
  }
}

/** Children that the rollouts left can measure, the leader's validation included: a round that cannot be finished is worth nothing. */
function affordable({ meter, validation }: Lab, { gradient_batch_size }: ApoConfig, batch: number): number {
  return Math.floor((meter.left - validation.length) / (gradient_batch_size + batch / 2)); // halving: a quarter each, then for half of them another, …
}

/** The best `width` on `tasks`, best first, by successive halving: those that lose on a quarter of the tasks do not run the rest. */
async function nextBeam(lab: Lab, candidates: readonly Candidate[], tasks: readonly Task[], width: number): Promise<Candidate[]> {
  let running = [...candidates];
  for (const share of [0.25, 0.5, 1]) {
    const some = tasks.slice(0, Math.ceil(tasks.length * share));
    const means = new Map<Candidate, number>();
    for (const candidate of running) means.set(candidate, scoreOf((await lab.evaluate(candidate, 'validation', some)).map(({ reward }) => reward)).mean_reward ?? -Infinity);
    const ranked = [...running].sort((a, b) => means.get(b)! - means.get(a)!);
    const staying = Math.max(width, share < 1 ? Math.ceil(ranked.length / 2) : 0);
    running = ranked.filter((candidate, rank) => rank < staying || candidate.pinned);
    for (const candidate of ranked) if (!running.includes(candidate) && candidate.origin !== 'source') lab.pool.update(candidate, { status: 'dropped' });
  }
  for (const candidate of running) lab.pool.update(candidate, { status: 'kept' });
  return running;
}
