import { t } from '../../trainer/protocol/l10n.ts';
import type { HistoryItem } from '../../trainer/protocol/prompt-views.ts';
import { h, part } from '../shared/dom.ts';

interface Events { show: (run_id: string) => void; apply: (run_id: string, which: 'best' | 'original') => void }

/** The agent's searches: each can be looked at again, and its texts put back into the source. */
export function historyView(events: Events): { element: HTMLElement; update: (items: readonly HistoryItem[]) => void } {
  const list = h('ul', { class: 'history' });
  const element = h('section', { 'aria-label': t('Earlier searches') }, h('h2', {}, t('Searches')), list);
  const draw = part(list, (items: readonly HistoryItem[]) => items.map(({ run_id, title, note, status, shown, applied, apply, restore }) => h('li', { 'data-run': run_id },
    h('span', { class: 'dot', 'data-status': status, 'aria-hidden': 'true' }),
    h('button', { type: 'button', class: 'link', 'aria-current': shown ? 'true' : null, title: t('Show this search'), click: () => { events.show(run_id); } }, title),
    h('span', { class: 'quiet' }, note),
    applied ? h('span', { class: 'mark' }, t('in source')) : null,
    h('span', { class: 'history-actions' },
      apply ? h('button', { type: 'button', class: 'link', 'aria-label': t('Apply the best text of {0}', title), click: () => { events.apply(run_id, 'best'); } }, t('Apply best…')) : null,
      restore ? h('button', { type: 'button', class: 'link', 'aria-label': t('Restore the text before {0}', title), click: () => { events.apply(run_id, 'original'); } }, t('Restore original…')) : null))));
  return {
    element,
    update(items) {
      element.hidden = items.length === 0;
      draw(items);
    },
  };
}
