import '../shared/language.ts';
import './trace.css';
import { plural, t } from '../../trainer/protocol/l10n.ts';
import type { CreditView, Detail, FromTrace, RolloutHead, ToTrace, TokensView, TraceView } from '../../trainer/protocol/trace-views.ts';
import type { RunHeader } from '../../trainer/protocol/views.ts';
import { registerControls } from '../shared/controls.ts';
import { h, part, setText } from '../shared/dom.ts';
import { connect } from '../shared/host.ts';
import { button, runHeaderView } from '../shared/run-header.ts';
import { comparisonView } from './compare.ts';
import { detailView } from './detail.ts';
import { errorsFirst, replaysBeside, sieveOf } from './filters.ts';
import { unpackRows } from '../../trainer/protocol/span-batch.ts';
import { keyOf, Lines, TraceRollout } from './model.ts';
import type { Line } from './model.ts';
import { toolbarView } from './toolbar.ts';
import { Tree } from './tree.ts';

registerControls();
const rollouts = new Map<string, TraceRollout>();
/** Rollouts are folded unless opened; spans are open unless folded. */
const opened = new Set<string>();
const folded = new Set<string>();
const details = new Map<string, Detail>();
const credits = new Map<string, CreditView>();
const tokens = new Map<string, { tokens: TokensView | null; problem: string | null }>();
const keptDetails = 200;
let selected: string | null = null;
let runId: string | null = null;
let lines: Lines | null = null;
let drawScheduled = false;
let agentsAt = 0;

const page = document.getElementById('page') ?? document.body;
const send = connect<ToTrace, FromTrace>(receive);
const header = runHeaderView((run: RunHeader) => (run.canCancel ? [button(t('Cancel'), 'secondary', () => { send({ type: 'cancel', run_id: run.run_id }); })] : []));
const count = h('span', { class: 'count', role: 'status' });
const steps = h('span');
const fold = h('vscode-button', { appearance: 'secondary', click: foldAll }, t('Expand all'));
const exportAll = h('vscode-button', { appearance: 'secondary', click: () => { send({ type: 'export', rollout_id: null }); } }, t('Export…'));
const order = h('input', { type: 'checkbox', checked: true, change: draw }) as HTMLInputElement;
let searching: ReturnType<typeof setTimeout> | undefined;
const toolbar = toolbarView((filters) => {
  clearTimeout(searching);
  if (filters.text !== '' && filters.matches === null) searching = setTimeout(() => { send({ type: 'search', text: filters.text }); }, 150);
  schedule();
});
const axis = h('div', { class: 'axis', 'aria-hidden': 'true' }, h('span'), h('span'), h('span'));
const tree = new Tree({ select, toggle }, {
  now: () => Date.now() / 1000,
  credit(line) {
    if (line.span?.kind !== 'llm') return null;
    const call = credits.get(line.rollout.head.rollout_id)?.calls.find((each) => each.span_id === line.span?.span_id);
    if (call?.credit == null) return null;
    return { text: call.credit, tone: call.advantage === null || call.advantage === 0 ? 'none' : call.advantage > 0 ? 'good' : 'bad' };
  },
  credited(line) {
    const [rollout_id, span_id] = selected?.split('/') ?? [];
    if (line.span === null || line.rollout.head.rollout_id !== rollout_id) return false;
    const { rewards = [] } = credits.get(rollout_id) ?? {};
    return rewards.some((reward) => (reward.span_id === span_id && reward.calls.includes(line.span!.span_id)) || (reward.span_id === line.span!.span_id && reward.calls.includes(span_id ?? '')));
  },
});
const detail = detailView({
  source: () => { toSelected('source'); },
  curl: () => { toSelected('curl'); },
  loadTokens: () => { toSelected('tokens'); },
  compare: () => { send({ type: 'compare', rollout_id: placeOf(selected).rollout_id }); },
  export: () => { send({ type: 'export', rollout_id: placeOf(selected).rollout_id }); },
  replay: (edits) => { send({ type: 'replay', ...placeOf(selected), edits }); },
  rule: (rule) => { send({ type: 'rule', rollout_id: placeOf(selected).rollout_id, rule }); },
  link: (reward, calls) => { send({ type: 'link', rollout_id: placeOf(selected).rollout_id, span_id: reward, calls }); },
  open: (span_id) => { choose(`${placeOf(selected).rollout_id}/${span_id}`); },
});
const drawSteps = part(steps, stepChoice);
const treePane = h('div', { class: 'tree-pane' }, axis, tree.element);
const panes = h('div', { class: 'panes' }, treePane, detail.element);
const comparison = h('div', { class: 'comparison-host', hidden: true });
const tools = h('div', { class: 'tools' }, count, steps, h('label', { class: 'choice' }, order, t('Errors first')), fold, exportAll);
const main = h('div', { class: 'page', hidden: true }, h('div', { class: 'top' }, header.element, tools, toolbar.element), panes, comparison);
const none = h('div', { class: 'empty', hidden: true }, h('h1', {}, t('No run to show')), h('p', {}, t('Start a dry run of an agent: every call it makes appears here as it happens.')));
page.append(main, none);
new ResizeObserver(() => { panes.classList.toggle('narrow', treePane.clientWidth < 360); }).observe(panes);
document.addEventListener('keydown', (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === 'f') {
    event.preventDefault();
    toolbar.focusSearch();
  } else if (event.key === 'Escape' && !comparison.hidden) closeComparison();
});

function receive(message: ToTrace): void {
  switch (message.type) {
    case 'header': header.update(message.header); break;
    case 'rollouts': message.rollouts.forEach(putHead); break;
    case 'spans': putSpans(message); break;
    case 'detail': remember(details, message.key, message.detail); break;
    case 'credit': credits.set(message.rollout_id, message.credit); break;
    case 'tokens': remember(tokens, message.key, { tokens: message.tokens, problem: message.problem }); break;
    case 'matches': toolbar.setMatches(message.text, message.keys); break;
    case 'comparison':
      if (message.comparison !== null) openComparison(comparisonView(message.comparison, closeComparison));
      break;
    case 'select': opened.add(message.rollout_id); choose(message.rollout_id); break;
    case 'view': show(message.view); break;
  }
  schedule();
}

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= keptDetails) break;
    map.delete(oldest);
  }
}

function putHead(head: RolloutHead): void {
  const known = rollouts.get(head.rollout_id);
  if (known === undefined) rollouts.set(head.rollout_id, new TraceRollout(head));
  else known.head = head;
}

function putSpans({ rollout_id, reset, spans }: Extract<ToTrace, { type: 'spans' }>): void {
  const rollout = rollouts.get(rollout_id);
  if (rollout === undefined) return;
  if (reset) rollout.clear();
  for (const span of unpackRows(spans)) rollout.add(span);
}

function show(view: TraceView): void {
  main.hidden = view.header === null;
  none.hidden = view.header !== null;
  if (view.header === null) return;
  if (view.header.run_id !== runId || view.rollouts.some((head) => !rollouts.has(head.rollout_id)) || view.open !== null) {
    runId = view.header.run_id;
    for (const map of [rollouts, details, credits, tokens]) map.clear();
    closeComparison();
  }
  header.update(view.header);
  drawSteps({ steps: view.steps, step: view.step });
  view.rollouts.forEach(putHead);
  main.dataset['source'] = view.source;
  if (view.open !== null && rollouts.has(view.open)) {
    opened.add(view.open);
    choose(view.open);
  } else if (selected !== null && rollouts.has(placeOf(selected).rollout_id)) choose(selected);
}

/** Once per frame, however much arrives. */
function schedule(): void {
  if (drawScheduled) return;
  drawScheduled = true;
  requestAnimationFrame(draw);
}

function draw(): void {
  drawScheduled = false;
  if (selected === null || !rollouts.has(placeOf(selected).rollout_id)) {
    const first = ordered()[0]?.head.rollout_id;
    selected = null;
    if (first !== undefined) {
      opened.add(first);
      choose(first);
    }
  }
  lines = new Lines(ordered(), { isOpen: (id) => opened.has(id), isFolded: (id) => folded.has(id) }, sieveOf(toolbar.filters()));
  const place = placeOf(selected);
  tree.update(lines, selected === null ? -1 : lines.indexOf(place.rollout_id, place.span_id));
  drawDetail();
  drawAxis();
  setText(count, countText());
  setText(fold, allOpen() ? t('Collapse all') : t('Expand all'));
  fold.hidden = rollouts.size < 2;
  if (performance.now() - agentsAt > 1000) {
    agentsAt = performance.now();
    toolbar.setAgents(agentNames());
  }
}

function ordered(): TraceRollout[] {
  const all = [...rollouts.values()];
  return replaysBeside(order.checked ? errorsFirst(all) : all);
}

function drawDetail(): void {
  if (selected === null) return detail.update(null);
  const { rollout_id, span_id } = placeOf(selected);
  const span = rollouts.get(rollout_id)?.spans.get(span_id) ?? null;
  detail.update({ key: selected, detail: details.get(selected) ?? null, span, credit: credits.get(rollout_id) ?? null, tokens: tokens.get(selected) ?? null });
}

/** The time scale of the rollout in question. */
function drawAxis(): void {
  const rollout = selected === null ? undefined : rollouts.get(placeOf(selected).rollout_id);
  axis.style.visibility = rollout === undefined || rollout.spans.size === 0 ? 'hidden' : 'visible';
  if (rollout === undefined || rollout.spans.size === 0) return;
  const extent = rollout.extent(Date.now() / 1000);
  ['0', secondsText(extent / 2), secondsText(extent)].forEach((text, i) => { setText(axis.children[i] as HTMLElement, text); });
}

function secondsText(seconds: number): string {
  if (seconds === 0) return '<1 ms';
  if (seconds < 0.01) return `${Number((seconds * 1000).toPrecision(2))} ms`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  return seconds < 120 ? `${seconds.toFixed(seconds < 10 ? 2 : 1)} s` : `${(seconds / 60).toFixed(1)} min`;
}

function placeOf(key: string | null): { rollout_id: string; span_id: string } {
  const [rollout_id = '', span_id = ''] = key?.split('/') ?? [];
  return { rollout_id, span_id };
}

function toSelected(type: 'source' | 'curl' | 'tokens'): void {
  send({ type, ...placeOf(selected) });
}

function select(line: Line, at: number): void {
  choose(keyOf(line));
  if (lines === null) return;
  tree.update(lines, at); // the lines themselves are as they were
  drawDetail();
  drawAxis();
}

/** Selects a line and asks for what is said in it. */
function choose(key: string): void {
  selected = key;
  const { rollout_id, span_id } = placeOf(key);
  if (rollouts.get(rollout_id)?.head.loaded === false) send({ type: 'load', rollout_id });
  send({ type: 'select', rollout_id, span_id: span_id === '' ? null : span_id });
}

function toggle(line: Line, expand: boolean): void {
  const set = line.span === null ? opened : folded;
  const id = line.span?.span_id ?? line.rollout.head.rollout_id;
  if (expand === (line.span === null)) set.add(id);
  else set.delete(id);
  draw();
}

const allOpen = (): boolean => [...rollouts.keys()].every((id) => opened.has(id));

function foldAll(): void {
  const expand = !allOpen();
  for (const { head } of rollouts.values()) {
    if (!expand) opened.delete(head.rollout_id);
    else {
      opened.add(head.rollout_id);
      if (!head.loaded) send({ type: 'load', rollout_id: head.rollout_id });
    }
  }
  draw();
}

function openComparison(view: HTMLElement): void {
  comparison.replaceChildren(view);
  comparison.hidden = false;
  panes.hidden = toolbar.element.hidden = tools.hidden = true;
  view.focus();
}

function closeComparison(): void {
  if (comparison.hidden) return;
  comparison.hidden = true;
  panes.hidden = toolbar.element.hidden = tools.hidden = false;
  tree.focus();
}

function agentNames(): string[] {
  const names = new Set<string>();
  for (const rollout of rollouts.values()) {
    for (const call of rollout.calls) {
      const name = rollout.agentOf(call);
      if (name !== null) names.add(name);
    }
  }
  return [...names].sort();
}

function countText(): string {
  const ended = [...rollouts.values()].filter(({ head }) => head.state !== 'waiting' && head.state !== 'running').length;
  const all = plural(rollouts.size, '{0} rollout', '{0} rollouts');
  return ended === rollouts.size ? all : t('{0} of {1} ended', ended, all);
}

function stepChoice(choice: { steps: TraceView['steps']; step: number | null }): HTMLElement[] {
  if (choice.steps.length === 0) return [];
  const options = choice.steps.map((step) => h('vscode-option', { value: step.value, selected: step.value === choice.step }, step.label));
  const dropdown = h('vscode-dropdown', { 'aria-label': t('Training step'), change: (event: Event) => { send({ type: 'step', step: Number((event.target as HTMLSelectElement).value) }); } }, ...options);
  return [dropdown];
}
