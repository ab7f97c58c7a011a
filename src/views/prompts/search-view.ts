import { t } from '../../../trainer/protocol/l10n.ts';
import type { Optimization } from '../../../trainer/protocol/optimize.ts';
import type { DiffBase, HistoryItem, SearchView } from '../../../trainer/protocol/prompt-views.ts';
import type { Run } from '../../../trainer/protocol/run.ts';
import { isActive } from '../../runs/run-book.ts';
import type { RunEntry } from '../../runs/run-book.ts';
import { duration } from '../format.ts';
import { isResumable, runHeader } from '../run-header.ts';
import { candidateDetail } from './candidate-detail.ts';
import { candidateRows } from './candidate-rows.ts';
import { costChart } from './cost-chart.ts';
import { budgetView, resultOf, searchOutcome, spentText, verdictOf } from './search-result.ts';

/** What of a search is looked at, and what is known beside it. */
export interface SearchChoice {
  candidate_id: string | null;
  base: DiffBase;
  /** By prompt id, as in the editor now; null while they are read. */
  source: Readonly<Record<string, string>> | null;
  titles: ReadonlyMap<string, string>;
}

/** One search, live or afterwards. `now`: seconds since the epoch. */
export function searchView({ run, waiting }: RunEntry, search: Optimization | null, choice: SearchChoice, now: number): SearchView {
  const active = isActive(run);
  const paused = run.pause === 'pausing' || run.pause === 'paused';
  const common = {
    header: runHeader(run),
    actions: { pause: active && !paused, resume: active ? paused : isResumable(run), finish: active, stop: active },
    waiting: waiting === null ? null : t('Waiting on {0} for {1}.', waiting.on, duration(Math.max(60, now - waiting.since))),
  };
  if (search === null) return { ...common, budget: [], spent: '', verdict: null, chart: { unit: '', limit: null, points: [], line: [], unitRange: true }, tree: null, selected: null };
  const applied = appliedCandidate(search, choice.source);
  const selected = search.candidates.find(({ candidate_id }) => candidate_id === (choice.candidate_id ?? search.best));
  return {
    ...common,
    budget: active ? budgetView(search) : [],
    spent: spentText(search.spent),
    verdict: verdictOf(run, search),
    chart: { ...costChart(search), ...(active ? {} : { limit: null }) }, // what is left of the budget matters while it goes on
    tree: candidateRows(search, applied, active),
    selected: selected === undefined ? null : candidateDetail(search, selected, { ...choice, applied: selected.candidate_id === applied, editable: active || run.status === 'succeeded', active }),
  };
}

/** The candidate whose texts are those of the source, the original before others; null: the source has other ones. */
export function appliedCandidate({ candidates, prompts }: Optimization, source: SearchChoice['source']): string | null {
  if (source === null) return null;
  return candidates.find(({ texts }) => prompts.every(({ prompt_id }) => texts[prompt_id] === source[prompt_id]))?.candidate_id ?? null;
}

/** An agent's searches, newest first. `search` null: not read. */
export function historyItem(run: Run, search: Optimization | null, source: SearchChoice['source'], shown: boolean): HistoryItem {
  const result = resultOf(run);
  const applied = search === null ? null : appliedCandidate(search, source);
  const found = result !== null && result.best.candidate_id !== 'c0';
  return {
    run_id: run.run_id,
    title: new Date(run.create_time * 1000).toLocaleString([], { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' }),
    note: [search?.algorithm === 'baseline' ? t('measured') : search?.algorithm.toUpperCase() ?? '', searchOutcome(run)].filter((part) => part !== '').join(' · '),
    status: runHeader(run).status,
    shown,
    applied: found && applied === result.best.candidate_id,
    apply: found && source !== null && applied !== result.best.candidate_id,
    restore: search !== null && source !== null && applied !== 'c0',
  };
}
