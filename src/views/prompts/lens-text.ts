import { plural, t } from '../../../trainer/protocol/l10n.ts';
import type { Optimization } from '../../../trainer/protocol/optimize.ts';
import type { Run } from '../../../trainer/protocol/run.ts';
import { isActive } from '../../runs/run-book.ts';
import { compact, number } from '../format.ts';
import { resultOf } from './search-result.ts';

/** What the line above a prompt offers. */
export type LensState =
  | { kind: 'none' } // never measured as it is now
  | { kind: 'scored'; score: number }
  | { kind: 'running'; run_id: string; rollouts: number; limit: number | null; best: number | null }
  | { kind: 'improved'; run_id: string; before: number; after: number };

/**
 * What is known of a prompt by the searches it was part of, newest first. A score counts only for the very text it was
 * measured with: after an edit by hand nothing is known.
 */
export function lensState(prompt_id: string, text: string, searches: readonly { run: Run; search: Optimization }[]): LensState {
  for (const { run, search } of searches) {
    if (!search.prompts.some((prompt) => prompt.prompt_id === prompt_id)) continue;
    if (isActive(run)) return { kind: 'running', run_id: run.run_id, rollouts: search.spent.rollouts, limit: search.budget.rollouts ?? null, best: search.candidates.find(({ candidate_id }) => candidate_id === search.best)?.validation?.mean_reward ?? null };
    const result = resultOf(run);
    const original = search.candidates.find(({ candidate_id }) => candidate_id === 'c0');
    const { baseline, best, improved } = result ?? {};
    if (best !== undefined && best.score !== null && best.prompts[prompt_id] === text && best.candidate_id !== 'c0') return { kind: 'scored', score: best.score };
    if (original?.texts[prompt_id] === text) {
      if (improved === true && baseline?.score != null && best?.score != null && best.prompts[prompt_id] !== text) return { kind: 'improved', run_id: run.run_id, before: baseline.score, after: best.score };
      const score = baseline?.score ?? original.validation?.mean_reward ?? null;
      if (score !== null) return { kind: 'scored', score };
    }
    const same = search.candidates.findLast((candidate) => candidate.texts[prompt_id] === text && candidate.validation?.mean_reward != null)?.validation?.mean_reward;
    if (same != null) return { kind: 'scored', score: same };
  }
  return { kind: 'none' };
}

export function lensText(state: LensState): string {
  switch (state.kind) {
    case 'none': return `$(wand) ${t('Optimize prompt')}`;
    case 'scored': return `$(wand) ${t('Optimize ({0})', number(state.score, 2))}`;
    case 'improved': return `$(lightbulb-sparkle) ${t('{0} → {1} · Review', number(state.before, 2), number(state.after, 2))}`;
    case 'running': {
      const done = state.limit === null ? plural(state.rollouts, '{0} rollout', '{0} rollouts') : t('{0} of {1}', compact(state.rollouts), plural(state.limit, '{0} rollout', '{0} rollouts'));
      return ['$(sync~spin) ' + t('Optimizing: {0}', done), ...(state.best === null ? [] : [t('best {0}', number(state.best, 2))])].join(' · ');
    }
  }
}
