import './trace.css';
import type { FromTrace, RolloutView, RunHeader, ToTrace, TraceView } from '../../trainer/protocol/views.ts';
import { registerControls } from '../shared/controls.ts';
import { h, part, setText } from '../shared/dom.ts';
import { connect } from '../shared/host.ts';
import { button, runHeaderView } from '../shared/run-header.ts';
import { detailView } from './detail.ts';
import { rowsOf } from './rows.ts';
import type { Row } from './rows.ts';
import { Tree } from './tree.ts';

registerControls();
const rollouts = new Map<string, RolloutView>();
/** Rollouts are folded unless opened; spans are open unless folded. */
const opened = new Set<string>();
const folded = new Set<string>();
let selected: string | null = null;
let runId: string | null = null;

const page = document.getElementById('page') ?? document.body;
const send = connect<ToTrace, FromTrace>(receive);
const header = runHeaderView((run: RunHeader) => (run.canCancel ? [button('Cancel', 'secondary', () => { send({ type: 'cancel', run_id: run.run_id }); })] : []));
const count = h('span', { class: 'count', role: 'status' });
const steps = h('span');
const fold = h('vscode-button', { appearance: 'secondary', click: foldAll }, 'Expand all');
const tree = new Tree({ select, toggle });
const detail = detailView();
const drawSteps = part(steps, stepChoice);
const panes = h('div', { class: 'panes' }, tree.element, detail.element);
const main = h('div', { class: 'page', hidden: true }, h('div', { class: 'top' }, header.element, h('div', { class: 'tools' }, count, steps, fold)), panes);
const none = h('div', { class: 'empty', hidden: true }, h('h1', {}, 'No run to show'), h('p', {}, 'Start a dry run of an agent: every call it makes appears here as it happens.'));
page.append(main, none);
new ResizeObserver(() => { panes.classList.toggle('narrow', tree.element.clientWidth < 360); }).observe(panes);

function receive(message: ToTrace): void {
  if (message.type === 'header') header.update(message.header);
  else if (message.type === 'rollouts') for (const rollout of message.rollouts) rollouts.set(rollout.rollout_id, rollout);
  else show(message.view);
  draw();
}

function show(view: TraceView): void {
  main.hidden = view.header === null;
  none.hidden = view.header !== null;
  if (view.header === null) return;
  if (view.header.run_id !== runId || view.rollouts.some((rollout) => !rollouts.has(rollout.rollout_id)) || view.open !== null) {
    runId = view.header.run_id;
    rollouts.clear();
  }
  header.update(view.header);
  drawSteps({ steps: view.steps, step: view.step });
  for (const rollout of view.rollouts) rollouts.set(rollout.rollout_id, rollout);
  if (view.open !== null && rollouts.has(view.open)) {
    opened.add(view.open);
    selected = view.open;
  }
}

function draw(): void {
  if (selected === null || !rollouts.has(selected.split('/')[0] ?? '')) {
    const first = rollouts.keys().next();
    selected = first.done === true ? null : first.value;
    if (selected !== null) opened.add(selected);
  }
  const rows = rowsOf(rollouts.values(), isCollapsed, Date.now() / 1000);
  tree.update(rows, selected);
  detail.update(rows.find((row) => row.key === selected) ?? null);
  setText(count, countText());
  setText(fold, allOpen() ? 'Collapse all' : 'Expand all');
  fold.hidden = rollouts.size < 2;
}

function isCollapsed(key: string): boolean {
  return rollouts.has(key) ? !opened.has(key) : folded.has(key);
}

function select(row: Row): void {
  selected = row.key;
  if (row.rollout.spans === null) send({ type: 'load', rollout_id: row.rollout.rollout_id });
  draw();
}

function toggle(row: Row, expand: boolean): void {
  if (row.span === null) {
    if (expand) opened.add(row.key);
    else opened.delete(row.key);
  } else if (expand) folded.delete(row.key);
  else folded.add(row.key);
  draw();
}

const allOpen = (): boolean => [...rollouts.keys()].every((id) => opened.has(id));

function foldAll(): void {
  const expand = !allOpen();
  for (const rollout of rollouts.values()) {
    if (!expand) opened.delete(rollout.rollout_id);
    else {
      opened.add(rollout.rollout_id);
      if (rollout.spans === null) send({ type: 'load', rollout_id: rollout.rollout_id });
    }
  }
  draw();
}

function countText(): string {
  const ended = [...rollouts.values()].filter((rollout) => rollout.state !== 'waiting' && rollout.state !== 'running').length;
  const all = `${rollouts.size} ${rollouts.size === 1 ? 'rollout' : 'rollouts'}`;
  return ended === rollouts.size ? all : `${ended} of ${all} ended`;
}

function stepChoice(choice: { steps: TraceView['steps']; step: number | null }): HTMLElement[] {
  if (choice.steps.length === 0) return [];
  const options = choice.steps.map((step) => h('vscode-option', { value: step.value, selected: step.value === choice.step }, step.label));
  const dropdown = h('vscode-dropdown', { 'aria-label': 'Training step', change: (event: Event) => { send({ type: 'step', step: Number((event.target as HTMLSelectElement).value) }); } }, ...options);
  return [dropdown];
}
