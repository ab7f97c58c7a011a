import { plural, t } from '../../../trainer/protocol/l10n.ts';
import { OptimizeResult } from '../../../trainer/protocol/optimize.ts';
import type { Budget, Optimization, OptimizeCost } from '../../../trainer/protocol/optimize.ts';
import type { SearchView, Verdict } from '../../../trainer/protocol/prompt-views.ts';
import type { Run } from '../../../trainer/protocol/run.ts';
import { isActive } from '../../runs/run-book.ts';
import { compact, duration, number, signed } from '../format.ts';
import { statusText } from '../run-header.ts';
import { candidateTitle } from './candidate-rows.ts';
import { spentOf } from './cost-chart.ts';

/** The report of a search on tasks it never saw; null before there is one. */
export function resultOf(run: Run): OptimizeResult | null {
  const result = OptimizeResult.safeParse(run.result);
  return run.kind === 'optimize' && result.success ? result.data : null;
}

function endText({ stopped }: OptimizeResult): string {
  switch (stopped) {
    case 'finished': return t('The search came to its end.');
    case 'budget': return t('The budget was used up.');
    case 'stopped': return t('The search was finished early.');
  }
}

const heldOut = (count: number): string => plural(count, '{0} held-out task', '{0} held-out tasks');

/** What a search found, said no stronger than its numbers are. null: it goes on. */
export function verdictOf(run: Run, search: Optimization): Verdict | null {
  const result = resultOf(run);
  if (result === null) return isActive(run) ? null : withoutReport(search);
  const { baseline, best, difference, improved } = result;
  if (search.algorithm === 'baseline') return { tone: 'none', title: t('Score {0}', number(baseline.score, 3)), text: t('On {0}. Only measured: nothing was changed.', heldOut(baseline.n)) };
  const scores = `${number(baseline.score, 3)} → ${number(best.score, 3)}`;
  const proof = difference === null ? '' : t('{0}, 95 % CI {1} to {2}, p = {3}, on {4}.', signed(difference.mean, 3), signed(difference.ci95[0], 3), signed(difference.ci95[1], 3), compact(difference.p_value), heldOut(best.n));
  if (improved) return { tone: 'good', title: scores, text: [t('Better: {0}', proof), endText(result)].join(' ') };
  return withoutImprovement(search, result, scores, proof);
}

/** Why the prompts stay as they are, said no stronger than what was measured. */
function withoutImprovement(search: Optimization, result: OptimizeResult, scores: string, proof: string): Verdict {
  const { baseline, best, difference } = result;
  const verdict = (title: string, ...text: string[]): Verdict => ({ tone: 'none', title, text: [...text, endText(result)].join(' ') });
  if (baseline.score === null) return verdict(t('Nothing could be scored'), t('No held-out task got a score, so nothing can be said of any text.'));
  const proposed = search.candidates.filter(({ origin }) => origin !== 'source');
  if (proposed.every(({ status }) => status === 'rejected')) {
    const rejected = proposed.length === 0 ? [] : [plural(proposed.length, 'The only proposal broke a rule.', 'All {0} proposals broke a rule.')];
    return verdict(t('No new text was tried'), ...rejected, t('The original scores {0} on {1}.', number(baseline.score, 3), heldOut(baseline.n)));
  }
  const found = t('No improvement found');
  if (best.candidate_id === 'c0') return verdict(found, t('No text scored better than the original: {0} on {1}.', number(baseline.score, 3), heldOut(baseline.n)));
  if (difference === null) return verdict(t('No improvement shown'), t('{0} was best on validation, but fewer than two held-out tasks were scored with both texts: too few to tell.', candidateTitle(best.candidate_id)));
  return verdict(found, t('{0} was best on validation, but the difference on held-out tasks could be chance: {1}, {2}', candidateTitle(best.candidate_id), scores, proof));
}

/** The same in a few words, for lists and messages. */
export function searchOutcome(run: Run): string {
  const result = resultOf(run);
  if (result === null) return isActive(run) ? t('under way') : statusText(run);
  if (result.improved) return `${number(result.baseline.score, 2)} → ${number(result.best.score, 2)}`;
  return result.baseline.score === null ? t('nothing scored') : t('{0}, no improvement', number(result.baseline.score, 2));
}

function withoutReport({ candidates, best }: Optimization): Verdict {
  const leading = candidates.find(({ candidate_id }) => candidate_id === best);
  const original = candidates.find(({ candidate_id }) => candidate_id === 'c0');
  const leads = leading === undefined || best === 'c0' ? t('No candidate had beaten the original by then.')
    : t('{0} was ahead on validation: {1} → {2}.', candidateTitle(best), number(original?.validation?.mean_reward ?? null, 3), number(leading.validation?.mean_reward ?? null, 3));
  return { tone: 'odd', title: t('Ended without a report'), text: [leads, t('Validation scores are what candidates were chosen by, so they flatter; nothing was measured on held-out tasks.')].join(' ') };
}

const limits: Record<keyof Budget, { name: () => string; used: (used: number, limit: number) => string }> = {
  rollouts: { name: () => t('Rollouts'), used: (used, limit) => t('{0} of {1}', compact(used), plural(limit, '{0} rollout', '{0} rollouts')) },
  tokens: { name: () => t('Tokens'), used: (used, limit) => t('{0} of {1}', compact(used), plural(limit, '{0} token', '{0} tokens')) },
  usd: { name: () => t('Money'), used: (used, limit) => t('{0} of {1}', `$${used.toFixed(2)}`, `$${limit.toFixed(2)}`) },
  minutes: { name: () => t('Time'), used: (used, limit) => t('{0} of {1}', duration(used * 60), duration(limit * 60)) },
};

/** How much of each limit is used. */
export function budgetView({ budget, spent }: Pick<Optimization, 'budget' | 'spent'>): SearchView['budget'] {
  return (Object.keys(limits) as (keyof Budget)[]).flatMap((unit) => {
    const limit = budget[unit];
    const used = spentOf(unit, spent);
    return limit === undefined || used === null ? [] : [{ label: limits[unit].name(), text: limits[unit].used(used, limit), used: Math.min(1, used / limit) }];
  });
}

/** All that a search has cost, in one line. */
export function spentText(cost: OptimizeCost): string {
  return [
    plural(cost.rollouts, '{0} rollout', '{0} rollouts'), ...(cost.cached_rollouts === 0 ? [] : [t('{0} cached', cost.cached_rollouts)]),
    ...(cost.optimizer_calls === 0 ? [] : [plural(cost.optimizer_calls, '{0} optimiser call', '{0} optimiser calls')]),
    t('{0} tokens', compact(cost.input_tokens + cost.output_tokens)), ...(cost.usd === null ? [] : [`$${cost.usd.toFixed(2)}`]), duration(cost.seconds),
  ].join(' · ');
}
