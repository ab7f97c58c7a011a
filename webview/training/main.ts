import './training.css';
import type { FromTraining, RunHeader, ToTraining, TrainingView } from '../../trainer/protocol/views.ts';
import { registerControls } from '../shared/controls.ts';
import { h, part, setText } from '../shared/dom.ts';
import { connect } from '../shared/host.ts';
import { button, runHeaderView } from '../shared/run-header.ts';
import { curveView } from './curve.ts';

registerControls();
const page = document.getElementById('page') ?? document.body;
const send = connect<ToTraining, FromTraining>((message) => { draw(message.view); });

const header = runHeaderView((run: RunHeader) => [
  button('Trace', 'secondary', () => { send({ type: 'open-trace', run_id: run.run_id, rollout_id: null }); }),
  ...(run.canCancel ? [button('Cancel', 'secondary', () => { send({ type: 'cancel', run_id: run.run_id }); })] : []),
]);
const progress = progressView();
const facts = h('dl', { class: 'facts' });
const drawFacts = part(facts, (items: TrainingView['facts']) => items.map((fact) => h('div', { class: fact.note.length > 30 ? 'fact wide' : 'fact' }, h('dt', {}, fact.label), h('dd', { class: 'value' }, fact.value), h('dd', { class: 'note' }, fact.note))));
const curve = curveView();
const funnel = h('section', { class: 'funnel', 'aria-label': 'Sample funnel' });
const drawFunnel = part(funnel, funnelRows);
const steps = h('section', { 'aria-label': 'Training steps' });
const drawSteps = part(steps, stepTable);
const notices = h('section', { class: 'notices', 'aria-label': 'Notices', role: 'log' });
const drawNotices = part(notices, (items: TrainingView['notices']) => items.map((notice) => h('p', { class: `callout ${notice.level}` }, notice.message)));

const run = h('div', { class: 'page', hidden: true }, header.element, progress.element, facts, curve.element, funnel, steps, notices);
const none = h('div', { class: 'empty', hidden: true },
  h('h1', {}, 'Nothing trained yet'),
  h('p', {}, 'Train an agent of this workspace and its reward curve appears here, step by step.'),
  button('Train agent', 'primary', () => { send({ type: 'train' }); }));
page.append(run, none);

/** The header's funnel needs the run's id to open a rollout. */
let shownRun: string | null = null;

function draw(view: TrainingView): void {
  run.hidden = view.header === null;
  none.hidden = view.header !== null;
  shownRun = view.header?.run_id ?? null;
  if (view.header === null) return;
  header.update(view.header);
  progress.update(view.progress);
  drawFacts(view.facts);
  curve.update(view.curve);
  drawFunnel(view.funnel);
  drawSteps(view.table);
  drawNotices(view.notices);
  notices.hidden = view.notices.length === 0;
}

function progressView(): { element: HTMLElement; update: (progress: TrainingView['progress']) => void } {
  const bar = h('div', { class: 'progress-bar' });
  const track = h('div', { class: 'progress-track', role: 'progressbar', 'aria-label': 'Progress of the run', 'aria-valuemin': 0, 'aria-valuemax': 100 }, bar);
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

function funnelRows(view: TrainingView['funnel']): HTMLElement[] {
  if (view === null) return [];
  const rows = view.rows.map((row) => {
    const bar = h('div', { 'aria-hidden': 'true' });
    if (row.share !== null) {
      const fill = h('div', { class: 'fill' });
      fill.style.width = `${row.share * 100}%`;
      bar.className = 'bar';
      bar.append(fill);
    }
    const losses = row.losses.map(({ text, rollout_id }) => (rollout_id === null || shownRun === null
      ? h('span', {}, text)
      : h('button', { type: 'button', title: 'Open one of these rollouts', click: () => { if (shownRun !== null) send({ type: 'open-trace', run_id: shownRun, rollout_id }); } }, text)));
    return h('li', {}, h('span', {}, row.stage), bar, h('span', { class: 'count' }, row.count.toLocaleString('en-US')),
      losses.length === 0 ? null : h('div', { class: 'losses' }, ...losses));
  });
  return [h('h2', {}, view.title), h('ol', {}, ...rows)];
}

function stepTable(table: TrainingView['table']): HTMLElement[] {
  if (table.rows.length === 0) return [];
  const head = h('tr', {}, ...table.columns.map((column) => h('th', { scope: 'col', title: column.help }, column.title, h('span', { class: 'unit' }, column.unit))));
  const body = table.rows.map((cells) => h('tr', {}, ...cells.map((cell) => h('td', {}, cell))));
  return [h('h2', {}, 'Steps'), h('div', { class: 'table-scroll', tabindex: 0, role: 'region', 'aria-label': 'Training steps, newest first' }, h('table', {}, h('thead', {}, head), h('tbody', {}, ...body)))];
}
