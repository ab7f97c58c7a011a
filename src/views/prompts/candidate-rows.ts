import { t } from '../../../trainer/protocol/l10n.ts';
import type { Candidate, Optimization } from '../../../trainer/protocol/optimize.ts';
import type { CandidateRow, CandidateState } from '../../../trainer/protocol/prompt-views.ts';
import { number } from '../format.ts';
import { winsAndLosses } from './task-rows.ts';

export function stateText(state: CandidateState): string {
  switch (state) {
    case 'proposed': return t('being tried');
    case 'rejected': return t('rejected');
    case 'dropped': return t('dropped');
    case 'kept': return t('kept');
    case 'unfinished': return t('not finished');
  }
}

/** `c0` is the original, `c7` Candidate 7, `h1` By hand 1. */
export function candidateTitle(candidate_id: string): string {
  if (candidate_id === 'c0') return t('Original');
  const [, kind, count] = /^([ch])(\d+)$/.exec(candidate_id) ?? [];
  if (kind === undefined || count === undefined) return candidate_id;
  return kind === 'h' ? t('By hand {0}', count) : t('Candidate {0}', count);
}

/** Where a candidate's text came from, in words. */
export function originText({ origin, parents }: Candidate): string {
  const from = parents.map(candidateTitle).join(', ');
  switch (origin) {
    case 'source': return t('the prompt of the source');
    case 'gradient': return t('by critique, from {0}', from);
    case 'reflection': return t('by reflection, from {0}', from);
    case 'merge': return t('merged from {0}', from);
    case 'hand': return t('by hand, from {0}', from);
  }
}

/** The search as a tree, depth first: each candidate below the first one it came from. `applied`: the one whose texts are in the source. */
export function candidateRows(search: Optimization, applied: string | null, active = true): CandidateRow[] {
  const { candidates } = search;
  const original = candidates.find(({ candidate_id }) => candidate_id === 'c0');
  const ids = new Set(candidates.map(({ candidate_id }) => candidate_id));
  const below = new Map<string | null, Candidate[]>();
  for (const candidate of candidates) {
    const parent = candidate.parents.find((id) => ids.has(id) && id !== candidate.candidate_id) ?? null;
    below.set(parent, [...below.get(parent) ?? [], candidate]);
  }
  const rows: CandidateRow[] = [];
  const add = (parent: string | null, level: number): void => {
    const siblings = below.get(parent) ?? [];
    for (const [index, candidate] of siblings.entries()) {
      const { wins, losses } = original === undefined ? { wins: 0, losses: 0 } : winsAndLosses(candidate, original);
      rows.push({
        candidate_id: candidate.candidate_id, title: candidateTitle(candidate.candidate_id), level, position: index + 1, siblings: siblings.length,
        state: stateOf(candidate, active), note: noteOf(candidate, active), score: scoreText(candidate),
        wins, losses, best: candidate.candidate_id === search.best, pinned: candidate.pinned, applied: candidate.candidate_id === applied, hint: hintOf(candidate),
      });
      add(candidate.candidate_id, level + 1);
    }
  };
  add(null, 1);
  return rows;
}

/** The validation score; before there is one, what the minibatch said. */
export function scoreText({ validation, minibatch }: Candidate): string {
  if (validation !== null) return number(validation.mean_reward, 3);
  return minibatch === null ? '' : `${number(minibatch.parent, 2)} → ${number(minibatch.child, 2)}`;
}

export function stateOf({ status }: Candidate, active: boolean): CandidateState {
  return status === 'proposed' && !active ? 'unfinished' : status;
}

function noteOf(candidate: Candidate, active: boolean): string {
  if (candidate.origin === 'source') return '';
  return `${stateText(stateOf(candidate, active))}, ${originText(candidate)}`;
}

function hintOf({ status, critique, rejection }: Candidate): string {
  return [...(rejection === null ? [] : [status === 'rejected' ? t('Rejected: {0}', rejection.message) : t('Repaired: {0}', rejection.message)]), ...(critique === null ? [] : [critique])].join('\n\n');
}
