import '../shared/language.ts';
import './training.css';
import { t } from '../../trainer/protocol/l10n.ts';
import type { FromTraining, RunActions, RunHeader, ToTraining, TrainingView } from '../../trainer/protocol/views.ts';
import { registerControls } from '../shared/controls.ts';
import { h, part, setText } from '../shared/dom.ts';
import { connect } from '../shared/host.ts';
import { button, runHeaderView } from '../shared/run-header.ts';
import { chartsView } from './charts.ts';
import { runnersView } from './runners.ts';
import { stepDetailView } from './step.ts';

registerControls();
const page = document.getElementById('page') ?? document.body;
const send = connect<ToTraining, FromTraining>((message) => { draw(message.view); });

/** What can be done with the run now; the header's buttons are drawn from it. */
let actions: RunActions = { pause: false, resume: false, stop: false, runners: null };
const header = runHeaderView((run: RunHeader) => [
  button(t('Trace'), 'secondary', () => { send({ type: 'open-trace', run_id: run.run_id, rollout_id: null }); }),
  ...(actions.pause ? [button(t('Pause'), 'secondary', () => { send({ type: 'pause', run_id: run.run_id }); })] : []),
  ...(actions.resume ? [button(t('Resume'), 'primary', () => { send({ type: 'resume', run_id: run.run_id }); })] : []),
  ...(actions.stop ? [button(t('Stop'), 'secondary', () => { send({ type: 'cancel', run_id: run.run_id }); })] : []),
]);
const runners = runnersView((n) => { if (shownRun !== null) send({ type: 'runners', run_id: shownRun, n }); });
const progress = progressView();
const waiting = h('p', { class: 'callout warning', role: 'status', hidden: true });
const facts = h('dl', { class: 'facts' });
const drawFacts = part(facts, (items: TrainingView['facts']) => items.map((fact) => h('div', { class: fact.note.length > 30 ? 'fact wide' : 'fact' }, h('dt', {}, fact.label), h('dd', { class: 'value' }, fact.value), h('dd', { class: 'note' }, fact.note))));
const charts = chartsView({
  step: (step) => { send({ type: 'step', step }); },
  compare: () => { send({ type: 'compare' }); },
  leaveOut: (run_id) => { send({ type: 'leave-out', run_id }); },
});
const step = stepDetailView({
  step: (chosen) => { send({ type: 'step', step: chosen }); },
  loss: (loss) => { send({ type: 'loss', loss }); },
  open: (rollout_id) => { if (shownRun !== null) send({ type: 'open-trace', run_id: shownRun, rollout_id }); },
});
const steps = h('section', { 'aria-label': t('Training steps') });
const drawSteps = part(steps, stepTable);
const notices = h('section', { class: 'notices', 'aria-label': t('Notices'), role: 'log' });
const drawNotices = part(notices, noticeList);
/** What the user may want to act on is not at the foot of a long page. */
const warnings = h('section', { class: 'notices', 'aria-label': t('Warnings'), role: 'log' });
const drawWarnings = part(warnings, noticeList);

const progressRow = h('div', { class: 'progress-row' }, progress.element, runners.element);
const run = h('div', { class: 'page', hidden: true }, header.element, progressRow, waiting, warnings, facts, charts.element, step.element, steps, notices);
const none = h('div', { class: 'empty', hidden: true },
  h('h1', {}, t('Nothing trained yet')),
  h('p', {}, t('Train an agent of this workspace and its reward curve appears here, step by step.')),
  button(t('Train agent'), 'primary', () => { send({ type: 'train' }); }));
page.append(run, none);

/** What buttons outside the header are about. */
let shownRun: string | null = null;

function draw(view: TrainingView): void {
  run.hidden = view.header === null;
  none.hidden = view.header !== null;
  shownRun = view.header?.run_id ?? null;
  if (view.header === null) return;
  actions = view.actions;
  header.update(view.header, view.actions);
  runners.update(view.actions);
  progress.update(view.progress);
  progressRow.hidden = view.progress === null && view.actions.runners === null;
  drawFacts(view.facts);
  charts.update(view.charts, view.step?.step ?? null);
  step.update(view.step);
  drawSteps({ table: view.table, chosen: view.step?.step ?? null });
  setText(waiting, view.waiting ?? '');
  waiting.hidden = view.waiting === null;
  const [told, warned] = [view.notices.filter(({ level }) => level === 'info'), view.notices.filter(({ level }) => level !== 'info')];
  drawNotices(told);
  notices.hidden = told.length === 0;
  drawWarnings(warned);
  warnings.hidden = warned.length === 0;
}

function noticeList(items: TrainingView['notices']): HTMLElement[] {
  return items.map((notice) => h('p', { class: `callout ${notice.level}` }, notice.message));
}

function progressView(): { element: HTMLElement; update: (progress: TrainingView['progress']) => void } {
  const bar = h('div', { class: 'progress-bar' });
  const track = h('div', { class: 'progress-track', role: 'progressbar', 'aria-label': t('Progress of the run'), 'aria-valuemin': 0, 'aria-valuemax': 100 }, bar);
  const text = h('p', { class: 'progress-text' });
  const element = h('div', {}, track, text);
  return {
    element,
    update(value) {
      element.hidden = value === null;
      if (value === null) return;
      setText(text, value.text);
      track.toggleAttribute('data-unknown', value.done === null);
      bar.style.width = value.done === null ? '' : `${value.done * 100}%`;
      if (value.done === null) track.removeAttribute('aria-valuenow');
      else track.setAttribute('aria-valuenow', String(Math.round(value.done * 100)));
      track.setAttribute('aria-valuetext', value.text);
    },
  };
}

function stepTable({ table, chosen }: { table: TrainingView['table']; chosen: number | null }): HTMLElement[] {
  if (table.rows.length === 0) return [];
  const head = h('tr', {}, ...table.columns.map((column) => h('th', { scope: 'col', title: column.help }, column.title, h('span', { class: 'unit' }, column.unit))));
  const body = table.rows.map((row) => h('tr', { 'aria-selected': String(row.step === chosen), click: () => { send({ type: 'step', step: row.step }); } },
    ...row.cells.map((cell, index) => h('td', {}, index === 0 ? h('button', { type: 'button', class: 'link', title: t('Look into step {0}', cell) }, cell) : cell))));
  return [h('h2', {}, t('All steps')), h('div', { class: 'table-scroll', tabindex: 0, role: 'region', 'aria-label': t('Training steps, newest first') }, h('table', {}, h('thead', {}, head), h('tbody', {}, ...body)))];
}
