import { t } from '../../trainer/protocol/l10n.ts';
import type { RunActions } from '../../trainer/protocol/views.ts';
import { h, part } from '../shared/dom.ts';

const most = 256;

/** How many rollouts run at a time, to be raised and lowered while they do. */
export function runnersView(set: (n: number) => void): { element: HTMLElement; update: (actions: RunActions) => void } {
  const element = h('div', { class: 'runners', role: 'group', 'aria-label': t('Rollouts at a time') });
  const draw = part(element, (n: number | null) => {
    if (n === null) return [];
    const change = (by: number, label: string, text: string): HTMLElement => h('button', { type: 'button', class: 'small', 'aria-label': label, title: label, disabled: n + by < 1 || n + by > most, click: () => { set(n + by); } }, text);
    return [h('span', { class: 'quiet' }, t('Rollouts at a time')), change(-1, t('One fewer at a time'), '−'), h('output', { 'aria-live': 'polite' }, String(n)), change(1, t('One more at a time'), '+')];
  });
  return {
    element,
    update: ({ runners }) => {
      element.hidden = runners === null;
      draw(runners);
    },
  };
}
