import { plural, t } from '../../../trainer/protocol/l10n.ts';
import type { Candidate, Optimization } from '../../../trainer/protocol/optimize.ts';
import type { CandidateDetail, CandidateText, DiffBase } from '../../../trainer/protocol/prompt-views.ts';
import { number } from '../format.ts';
import { candidateTitle, originText, stateOf, stateText } from './candidate-rows.ts';
import { placeOf, textParts, wordDiff } from './prompt-text.ts';
import { spentText } from './search-result.ts';
import { taskRows, winsAndLosses } from './task-rows.ts';

export interface DetailChoice {
  base: DiffBase;
  /** By prompt id, the texts of the source now; null while they are read. */
  source: Readonly<Record<string, string>> | null;
  /** By task id. */
  titles: ReadonlyMap<string, string>;
  applied: boolean;
  /** Whether the trainer takes hand-written texts and pins now. */
  editable: boolean;
  /** The search goes on. */
  active: boolean;
}

/** One candidate: where it came from, what it changes, on which tasks it does better or worse than the original. */
export function candidateDetail(search: Optimization, candidate: Candidate, { base, source, titles, applied, editable, active }: DetailChoice): CandidateDetail {
  const original = search.candidates.find(({ candidate_id }) => candidate_id === 'c0') ?? candidate;
  const parent = search.candidates.find(({ candidate_id }) => candidate_id === candidate.parents[0]);
  const shownBase = base === 'parent' && parent !== undefined ? 'parent' : 'source';
  const before = shownBase === 'parent' && parent !== undefined ? parent.texts : source ?? original.texts;
  return {
    candidate_id: candidate.candidate_id,
    title: candidateTitle(candidate.candidate_id),
    facts: factsOf(candidate, active),
    critique: candidate.critique,
    rejection: candidate.status === 'rejected' ? candidate.rejection?.message ?? null : null,
    base: shownBase,
    hasParent: parent !== undefined,
    texts: search.prompts.flatMap((prompt): CandidateText[] => {
      const text = candidate.texts[prompt.prompt_id];
      if (text === undefined) return [];
      return [{ prompt_id: prompt.prompt_id, name: prompt.name, place: placeOf(prompt), text, diff: wordDiff(before[prompt.prompt_id] ?? prompt.text, text), parts: textParts(text, prompt.variables) }];
    }),
    tasks: taskRows(candidate, original, titles),
    ...winsAndLosses(candidate, original),
    pinned: candidate.pinned,
    applied,
    actions: { apply: candidate.status !== 'rejected' && !applied && source !== null, pin: editable && candidate.status !== 'rejected', edit: editable },
  };
}

function factsOf(candidate: Candidate, active: boolean): CandidateDetail['facts'] {
  const { validation, test, minibatch, repairs, rejection, cost, status, origin } = candidate;
  return [
    { label: t('State'), value: origin === 'source' ? originText(candidate) : `${stateText(stateOf(candidate, active))}, ${originText(candidate)}` },
    ...(validation === null ? [] : [{ label: t('Validation'), value: onTasks(number(validation.mean_reward, 3), validation.n) }]),
    ...(test === null ? [] : [{ label: t('Held-out'), value: onTasks(number(test.mean_reward, 3), test.n) }]),
    ...(minibatch === null ? [] : [{ label: t('Minibatch'), value: onTasks(`${number(minibatch.parent, 2)} → ${number(minibatch.child, 2)}`, minibatch.n) }]),
    ...(repairs === 0 ? [] : [{ label: t('Repaired'), value: [plural(repairs, '{0} time', '{0} times'), ...(rejection === null || status === 'rejected' ? [] : [rejection.message])].join(': ') }]),
    { label: t('Cost'), value: spentText(cost) },
  ];
}

const onTasks = (score: string, count: number): string => `${score} (${plural(count, '{0} task', '{0} tasks')})`;
