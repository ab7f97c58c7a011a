import { t } from '../../trainer/protocol/l10n.ts';
import type { ComparedSpan, Comparison } from '../../trainer/protocol/trace-views.ts';
import { button } from '../shared/run-header.ts';
import { h } from '../shared/dom.ts';
import { icon } from './icons.ts';
import { textView } from './json-view.ts';

/** Two attempts side by side; what both have the same is folded. */
export function comparisonView(comparison: Comparison, close: () => void): HTMLElement {
  const differing = comparison.rows.filter((row) => !row.same).length;
  const side = (span: ComparedSpan | null, same: boolean): HTMLElement => {
    if (span === null) return h('div', { class: 'side absent', role: 'cell' }, h('span', { class: 'quiet' }, t('not there')));
    const head = [h('span', { class: `icon ${span.kind}` }, icon(span.kind)), h('span', { class: 'title' }, span.title), h('span', { class: 'note' }, span.note)];
    const element = h('div', { class: `side${span.failed ? ' failed' : ''}`, role: 'cell' }, span.text === '' ? h('div', { class: 'side-head' }, ...head) : h('details', { open: !same }, h('summary', { class: 'side-head' }, ...head), textView(span.text)));
    element.style.setProperty('--level', String(span.level));
    return element;
  };
  return h('div', { class: 'comparison', tabindex: 0, role: 'region', 'aria-label': t('Comparison of two attempts') },
    h('div', { class: 'comparison-head' }, h('h1', {}, t('Comparison')), h('span', { class: 'quiet', role: 'status' }, differing === 0 ? t('No difference in what was said and done') : t('{0} of {1} steps differ', differing, comparison.rows.length)), button(t('Close'), 'secondary', close)),
    h('div', { class: 'comparison-table', role: 'table' },
      h('div', { class: 'comparison-row heads', role: 'row' }, ...[comparison.left, comparison.right].map((head) => h('div', { class: 'side', role: 'columnheader' }, h('strong', {}, head.title), h('span', { class: 'note' }, head.note)))),
      ...comparison.rows.map((row) => h('div', { class: `comparison-row${row.same ? ' same' : ' differs'}`, role: 'row' }, side(row.left, row.same), side(row.right, row.same)))));
}
