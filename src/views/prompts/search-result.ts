import { OptimizeResult } from '../../../trainer/protocol/optimize.ts';
import type { Budget, Optimization, OptimizeCost } from '../../../trainer/protocol/optimize.ts';
import type { SearchView, Verdict } from '../../../trainer/protocol/prompt-views.ts';
import type { Run } from '../../../trainer/protocol/run.ts';
import { isActive } from '../../runs/run-book.ts';
import { compact, duration, number, plural, signed } from '../format.ts';
import { candidateTitle } from './candidate-rows.ts';
import { spentOf } from './cost-chart.ts';

/** The report of a search on tasks it never saw; null before there is one. */
export function resultOf(run: Run): OptimizeResult | null {
  const result = OptimizeResult.safeParse(run.result);
  return run.kind === 'optimize' && result.success ? result.data : null;
}

const ends: Record<OptimizeResult['stopped'], string> = { finished: 'The search came to its end.', budget: 'The budget was used up.', stopped: 'The search was finished early.' };

/** What a search found, said no stronger than its numbers are. null: it goes on. */
export function verdictOf(run: Run, search: Optimization): Verdict | null {
  const result = resultOf(run);
  if (result === null) return isActive(run) ? null : withoutReport(search);
  const { baseline, best, difference, improved, stopped } = result;
  if (search.algorithm === 'baseline') return { tone: 'none', title: `Score ${number(baseline.score, 3)}`, text: `On ${plural(baseline.n, 'held-out task')}. Only measured: nothing was changed.` };
  const scores = `${number(baseline.score, 3)} → ${number(best.score, 3)}`;
  const proof = difference === null ? '' : `${signed(difference.mean, 3)}, 95 % CI ${signed(difference.ci95[0], 3)} to ${signed(difference.ci95[1], 3)}, p = ${compact(difference.p_value)}, on ${plural(best.n, 'held-out task')}.`;
  if (improved) return { tone: 'good', title: scores, text: `Better: ${proof} ${ends[stopped]}` };
  const why = best.candidate_id === 'c0' || difference === null
    ? `No text scored better than the original${baseline.score === null ? '' : ` (${number(baseline.score, 3)} on ${plural(baseline.n, 'held-out task')})`}.`
    : `${candidateTitle(best.candidate_id)} was best on validation, but the difference on held-out tasks could be chance: ${scores}, ${proof}`;
  return { tone: 'none', title: 'No improvement found', text: `${why} ${ends[stopped]}` };
}

/** The same in a few words, for lists and messages. */
export function searchOutcome(run: Run): string {
  const result = resultOf(run);
  if (result === null) return isActive(run) ? 'under way' : run.status;
  if (result.improved) return `${number(result.baseline.score, 2)} → ${number(result.best.score, 2)}`;
  return result.baseline.score === null ? 'no improvement' : `${number(result.baseline.score, 2)}, no improvement`;
}

function withoutReport({ candidates, best }: Optimization): Verdict {
  const leading = candidates.find(({ candidate_id }) => candidate_id === best);
  const original = candidates.find(({ candidate_id }) => candidate_id === 'c0');
  const leads = leading === undefined || best === 'c0' ? 'No candidate had beaten the original by then.'
    : `${candidateTitle(best)} was ahead on validation: ${number(original?.validation?.mean_reward ?? null, 3)} → ${number(leading.validation?.mean_reward ?? null, 3)}.`;
  return { tone: 'odd', title: 'Ended without a report', text: `${leads} Validation scores are what candidates were chosen by, so they flatter; nothing was measured on held-out tasks.` };
}

const limitWords: Record<keyof Budget, (used: number, limit: number) => string> = {
  rollouts: (used, limit) => `${compact(used)} of ${plural(limit, 'rollout')}`,
  tokens: (used, limit) => `${compact(used)} of ${plural(limit, 'token')}`,
  usd: (used, limit) => `$${used.toFixed(2)} of $${limit.toFixed(2)}`,
  minutes: (used, limit) => `${duration(used * 60)} of ${duration(limit * 60)}`,
};
const limitNames: Record<keyof Budget, string> = { rollouts: 'Rollouts', tokens: 'Tokens', usd: 'Money', minutes: 'Time' };

/** How much of each limit is used. */
export function budgetView({ budget, spent }: Pick<Optimization, 'budget' | 'spent'>): SearchView['budget'] {
  return (Object.keys(limitWords) as (keyof Budget)[]).flatMap((unit) => {
    const limit = budget[unit];
    const used = spentOf(unit, spent);
    return limit === undefined || used === null ? [] : [{ label: limitNames[unit], text: limitWords[unit](used, limit), used: Math.min(1, used / limit) }];
  });
}

/** All that a search has cost, in one line. */
export function spentText(cost: OptimizeCost): string {
  return [
    `${plural(cost.rollouts, 'rollout')}${cost.cached_rollouts === 0 ? '' : ` and ${plural(cost.cached_rollouts, 'cached one')}`}`,
    ...(cost.optimizer_calls === 0 ? [] : [plural(cost.optimizer_calls, 'optimiser call')]), `${compact(cost.input_tokens + cost.output_tokens)} tokens`, ...(cost.usd === null ? [] : [`$${cost.usd.toFixed(2)}`]), duration(cost.seconds),
  ].join(' · ');
}
