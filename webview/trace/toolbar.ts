import { t } from '../../trainer/protocol/l10n.ts';
import { h, part, setText } from '../shared/dom.ts';
import { isFiltering, noFilters, statuses } from './filters.ts';
import type { Filters, Status } from './filters.ts';

/** Search and filters over the tree. */
export function toolbarView(changed: (filters: Filters) => void): { element: HTMLElement; filters(): Filters; setMatches(text: string, keys: string[]): void; setAgents(agents: string[]): void; focusSearch(): void } {
  let filters = noFilters;
  const set = (patch: Partial<Filters>): void => {
    filters = { ...filters, ...patch };
    clear.hidden = !isFiltering(filters);
    changed(filters);
  };
  const search = h('input', { type: 'search', placeholder: t('Search in messages and results'), 'aria-label': t('Search in messages and results'), class: 'search', input: () => { set({ text: search.value.trim(), matches: null }); } }) as HTMLInputElement;
  const status = h('select', { 'aria-label': t('Status'), change: () => { set({ status: status.value as Status }); } }, ...Object.entries(statuses).map(([value, label]) => h('option', { value }, label))) as HTMLSelectElement;
  const agent = h('select', { 'aria-label': t('Agent'), hidden: true, change: () => { set({ agent: agent.value === '' ? null : agent.value }); } }) as HTMLSelectElement;
  const bound = (label: string, inWords: string, key: 'rewardFrom' | 'rewardTo'): HTMLInputElement => {
    const field = h('input', { type: 'number', step: 'any', placeholder: label, 'aria-label': inWords, class: 'bound', input: () => { set({ [key]: field.value === '' ? null : Number(field.value) }); } }) as HTMLInputElement;
    return field;
  };
  const [from, to] = [bound(t('from'), t('Reward from'), 'rewardFrom'), bound(t('to'), t('Reward to'), 'rewardTo')];
  const clear = h('vscode-button', { appearance: 'secondary', hidden: true, click: () => {
    search.value = from.value = to.value = agent.value = '';
    status.value = 'any';
    set(noFilters);
  } }, t('Clear'));
  const drawAgents = part(agent, (agents: string[]) => [h('option', { value: '' }, t('Any agent')), ...agents.map((name) => h('option', { value: name, selected: name === filters.agent }, name))]);
  const found = h('span', { role: 'status', class: 'visually-hidden' });
  return {
    element: h('div', { class: 'filters', role: 'search' }, search, status, agent, h('span', { class: 'range' }, h('span', { class: 'quiet' }, t('Reward')), from, h('span', { class: 'quiet', 'aria-hidden': 'true' }, '–'), to), clear, found),
    filters: () => filters,
    setMatches(text, keys) {
      if (text !== filters.text) return;
      setText(found, t('{0} found', keys.length));
      set({ matches: new Set(keys) });
    },
    setAgents(agents) {
      agent.hidden = agents.length < 2;
      drawAgents(agents);
    },
    focusSearch: () => { search.focus(); },
  };
}
