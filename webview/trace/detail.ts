import type { Section } from '../../trainer/protocol/views.ts';
import { h, part } from '../shared/dom.ts';
import type { Row } from './rows.ts';

interface Detail { title: string; facts: string; sections: Section[]; loading: boolean }

/** What was said and done in the selected span or rollout. */
export function detailView(): { element: HTMLElement; update: (row: Row | null) => void } {
  const element = h('div', { class: 'detail', tabindex: 0, role: 'region', 'aria-label': 'Details of the selection' });
  const draw = part(element, (detail: Detail | null) => (detail === null
    ? [h('p', { class: 'quiet' }, 'Spans appear on the left as the agent runs. Select one to see what was said.')]
    : [h('h1', {}, detail.title), h('p', { class: 'facts-line' }, detail.facts), ...detail.sections.map(sectionView), detail.loading ? h('p', { class: 'quiet' }, 'Loading its spans…') : null]));
  let shown: string | null = null;
  return {
    element,
    update(row) {
      draw(row === null ? null : detailOf(row));
      if (row?.key !== shown) element.scrollTop = 0;
      shown = row?.key ?? null;
    },
  };
}

function detailOf(row: Row): Detail {
  const { span, rollout } = row;
  const { start, end } = span ?? rollout;
  const time = start === null ? '' : end === null ? 'still running' : durationText(end - start);
  const what = span === null ? (row.note === row.label ? row.label : `${row.label} ${row.note}`) : [row.label, row.note].filter((text) => text !== '').join(' · ');
  return {
    title: row.title,
    facts: [what, ...(row.failed && span !== null ? ['failed'] : []), time].filter((text) => text !== '').join(' · '),
    sections: span === null ? rollout.sections : span.sections,
    loading: span === null && rollout.spans === null,
  };
}

function durationText(seconds: number): string {
  return seconds < 1 ? `${Math.max(0, Math.round(seconds * 1000))} ms` : `${seconds.toFixed(2)} s`;
}

function sectionView(section: Section): HTMLElement {
  switch (section.kind) {
    case 'chat':
      return h('section', {}, h('h2', {}, section.title), ...section.messages.map((message) => h('div', { class: 'message', 'data-role': message.role }, h('span', { class: 'role' }, message.role), h('pre', {}, message.text))));
    case 'text':
      return h('section', {}, h('h2', {}, section.title), h('pre', { class: `block ${section.tone}` }, section.text));
    case 'fields':
      return h('section', {}, h('details', { open: section.fields.length <= 8 },
        h('summary', {}, section.title), h('dl', { class: 'fields' }, ...section.fields.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]))));
  }
}
