import { t } from '../../trainer/protocol/l10n.ts';
import type { CandidateDetail, DiffBase, SearchView } from '../../trainer/protocol/prompt-views.ts';
import type { RunHeader } from '../../trainer/protocol/views.ts';
import { h, part, setText } from '../shared/dom.ts';
import { button, runHeaderView } from '../shared/run-header.ts';
import { candidateView } from './candidate.ts';
import { costChartView } from './cost-chart.ts';
import { searchTree } from './tree.ts';

export interface SearchEvents {
  control: (type: 'finish' | 'pause' | 'resume' | 'cancel', run_id: string) => void;
  fresh: () => void;
  select: (candidate_id: string) => void;
  base: (base: DiffBase) => void;
  apply: (run_id: string, candidate_id: string) => void;
  pin: (run_id: string, candidate_id: string, pinned: boolean) => void;
  score: (run_id: string, candidate_id: string, texts: Record<string, string>) => void;
  trace: (run_id: string, rollout_id: string) => void;
}

/** A search, live or afterwards: its state, what is left of the budget, what it found, and its candidates. */
export function searchSection(events: SearchEvents): { element: HTMLElement; update: (view: SearchView | null) => void; scored: (problem: string | null) => void } {
  let run_id = '';
  let actions: SearchView['actions'] = { pause: false, resume: false, finish: false, stop: false };
  const header = runHeaderView((run: RunHeader) => [
    ...(actions.resume ? [button(t('Resume'), 'primary', () => { events.control('resume', run.run_id); })] : []),
    ...(actions.finish ? [titled(button(t('Finish now'), 'secondary', () => { events.control('finish', run.run_id); }), t('End the search with the best so far and measure it on held-out tasks'))] : []),
    ...(actions.pause ? [button(t('Pause'), 'secondary', () => { events.control('pause', run.run_id); })] : []),
    ...(actions.stop ? [titled(button(t('Stop'), 'secondary', () => { events.control('cancel', run.run_id); }), t('End the search at once, without a report'))] : [button(t('New search…'), 'secondary', events.fresh)]),
  ]);
  const waiting = h('p', { class: 'callout warning', role: 'status', hidden: true });
  const verdict = h('div', { role: 'status' });
  const budget = h('div', { class: 'budget', 'aria-label': t('Budget'), role: 'group' });
  const spent = h('p', { class: 'quiet spent' });
  const chart = costChartView(events.select);
  const tree = searchTree(events.select);
  const reading = h('p', { class: 'quiet' }, t('Reading the candidates…'));
  const candidate = candidateView({
    base: events.base, apply: (id) => { events.apply(run_id, id); }, pin: (id, pinned) => { events.pin(run_id, id, pinned); },
    score: (id, texts) => { events.score(run_id, id, texts); }, trace: (rollout_id) => { events.trace(run_id, rollout_id); },
  });
  const drawVerdict = part(verdict, (shown: SearchView['verdict']) => (shown === null ? [] : [h('div', { class: 'verdict', 'data-tone': shown.tone }, h('p', { class: 'verdict-title' }, shown.title), h('p', {}, shown.text))]));
  const drawBudget = part(budget, (limits: SearchView['budget']) => limits.map(({ label, text, used }) => {
    const bar = h('i');
    bar.style.width = `${used * 100}%`;
    return h('div', { class: 'limit' }, h('span', {}, text), h('span', { class: 'track', role: 'progressbar', 'aria-label': t('{0} used', label), 'aria-valuemin': 0, 'aria-valuemax': 100, 'aria-valuenow': Math.round(used * 100), 'aria-valuetext': text }, bar));
  }));
  const treeSection = h('section', { 'aria-label': t('Search tree') }, h('h2', {}, t('Candidates')), reading, tree.element);
  const element = h('section', { class: 'search', 'aria-label': t('Search') }, header.element, waiting, verdict, budget, spent, h('div', { class: 'search-body' }, h('div', { class: 'search-main' }, chart.element, treeSection), candidate.element));
  return {
    element,
    scored: candidate.scored,
    update(view) {
      element.hidden = view === null;
      if (view === null) return;
      ({ run_id } = view.header);
      ({ actions } = view);
      header.update(view.header, actions);
      setText(waiting, view.waiting ?? '');
      waiting.hidden = view.waiting === null;
      drawVerdict(view.verdict);
      drawBudget(view.budget);
      setText(spent, view.spent);
      chart.update(view.chart);
      reading.hidden = view.tree !== null;
      tree.update(view.tree ?? [], view.selected?.candidate_id ?? null);
      candidate.update(view.selected satisfies CandidateDetail | null);
    },
  };
}

function titled(element: HTMLElement, title: string): HTMLElement {
  element.title = title;
  return element;
}
