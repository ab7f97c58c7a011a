import { t } from '../../trainer/protocol/l10n.ts';
import type { CandidateDetail, TaskRow } from '../../trainer/protocol/prompt-views.ts';
import { h } from '../shared/dom.ts';

export type TaskFilter = 'all' | 'won' | 'lost';

const signs: Record<TaskRow['change'], { sign: string; words: string }> = {
  won: { sign: '▲', words: t('better') }, lost: { sign: '▼', words: t('worse') }, same: { sign: '=', words: t('the same') }, open: { sign: '?', words: t('cannot be compared') },
};
const partTitles: Record<TaskRow['part'], string> = { validation: t('Validation tasks'), train: t('Training tasks'), test: t('Held-out tasks') };

/** The tasks of a candidate beside what the original text came to; a click opens the trace. */
export function taskTable({ tasks, wins, losses, ties }: CandidateDetail, filter: TaskFilter, events: { trace: (rollout_id: string) => void; filter: (filter: TaskFilter) => void }): HTMLElement[] {
  if (tasks.length === 0) return [h('h3', {}, t('Tasks')), h('p', { class: 'quiet' }, t('It has run no task.'))];
  const choice = (value: TaskFilter, label: string): HTMLElement => h('button', { type: 'button', class: 'filter', 'aria-pressed': String(value === filter), 'data-focus': `filter-${value}`, click: () => { events.filter(value); } }, label);
  const shown = tasks.filter(({ change }) => filter === 'all' || change === filter);
  const heads = h('tr', {}, h('th', { scope: 'col' }, t('Task')), h('th', { scope: 'col' }, t('Before')), h('th', { scope: 'col' }, t('Now')), h('th', { scope: 'col' }, h('span', { class: 'visually-hidden' }, t('Change'))));
  const bodies = (Object.keys(partTitles) as TaskRow['part'][]).flatMap((part) => {
    const rows = shown.filter((row) => row.part === part);
    return rows.length === 0 ? [] : [h('tbody', {}, h('tr', { class: 'part' }, h('th', { colspan: 4, scope: 'rowgroup' }, partTitles[part])), ...rows.map((row) => taskLine(row, events.trace)))];
  });
  return [
    h('div', { class: 'section-head' }, h('h3', {}, t('Tasks')), h('div', { class: 'filters', role: 'group', 'aria-label': t('Which tasks') }, choice('all', t('All')), choice('won', t('Better')), choice('lost', t('Worse')))),
    h('p', { class: 'quiet' }, t('On validation tasks: {0} better, {1} worse, {2} the same as the original.', wins, losses, ties)),
    bodies.length === 0 ? h('p', { class: 'quiet' }, t('There is none.')) : h('div', { class: 'task-rows', tabindex: 0, role: 'region', 'aria-label': t('Tasks and their scores') }, h('table', {}, h('thead', {}, heads), ...bodies)),
  ];
}

function taskLine({ task_id, part, title, baseline, candidate, change, reason, rollout_id }: TaskRow, trace: (rollout_id: string) => void): HTMLElement {
  const { sign, words } = signs[change];
  return h('tr', { 'data-change': change },
    h('td', { title }, rollout_id === null ? title : h('button', { type: 'button', class: 'link', title: t('{0}: open its trace', title), 'data-focus': `task-${part}-${task_id}`, click: () => { trace(rollout_id); } }, title)),
    h('td', {}, baseline), h('td', { title: reason }, candidate), h('td', { class: 'sign', title: words }, h('span', { 'aria-hidden': 'true' }, sign), h('span', { class: 'visually-hidden' }, words)));
}
