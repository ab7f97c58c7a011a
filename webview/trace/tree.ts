import { t } from '../../trainer/protocol/l10n.ts';
import { h, setText } from '../shared/dom.ts';
import { icon } from '../shared/icons.ts';
import { keyOf } from './model.ts';
import type { Line, Lines } from './model.ts';

export interface TreeEvents { select: (line: Line, at: number) => void; toggle: (line: Line, expand: boolean) => void }

/** What is drawn beside a line's title. */
export interface Marks { credit(line: Line): { text: string; tone: 'good' | 'bad' | 'none' } | null; credited(line: Line): boolean; now(): number }

const stateWords = { waiting: t('waiting'), running: t('running'), scored: t('scored'), unscored: t('unscored'), failed: t('failed'), cancelled: t('cancelled') } as const;
const kindWords = { llm: t('LLM call'), operation: t('operation'), reward: t('reward'), message: t('message'), exception: t('exception'), other: t('span') } as const;
/** Lines drawn above and below the visible ones, so that a scroll step finds them there. */
const spare = 6;

interface Row {
  element: HTMLElement; twisty: HTMLElement; icon: HTMLElement; title: HTMLElement; badge: HTMLElement; note: HTMLElement; track: HTMLElement; bar: HTMLElement;
  line: Line | null; drawn: string; index: number; top: number; icons: string;
}

/**
 * A tree as the ARIA practices describe it, of any length: only the lines in sight have elements, and the elements are
 * used again. One tab stop, the selected line, whose element is kept even out of sight, so that focus is never lost.
 */
export class Tree {
  readonly element = h('div', { class: 'tree', role: 'tree', 'aria-label': t('Rollouts and their spans') });
  private readonly canvas = h('div', { class: 'canvas', role: 'presentation' });
  private readonly events: TreeEvents;
  private readonly marks: Marks;
  /** By the key of what they show, so that a trace sent anew keeps its elements, and focus. */
  private readonly rows = new Map<string, Row>();
  /** Rows out of use, by their icon: the costly part to change. */
  private readonly pool = new Map<string, Row[]>();
  private lines: Lines | null = null;
  private selected = -1;
  private rowHeight = 24;
  private height = 0;
  private scheduled = false;

  constructor(events: TreeEvents, marks: Marks) {
    this.events = events;
    this.marks = marks;
    this.element.append(this.canvas);
    this.element.addEventListener('keydown', (event) => { this.key(event); });
    this.element.addEventListener('click', (event) => { this.click(event); });
    this.element.addEventListener('scroll', () => { this.schedule(); }, { passive: true });
    new ResizeObserver(() => {
      this.height = this.element.clientHeight;
      const font = Number.parseFloat(getComputedStyle(this.element).fontSize);
      this.rowHeight = Math.max(24, Math.ceil(font * 1.8));
      this.element.style.setProperty('--row', `${this.rowHeight}px`);
      this.draw();
    }).observe(this.element);
  }

  /** `selected`: the line's place; -1: none is. */
  update(lines: Lines, selected: number): void {
    this.lines = lines;
    this.selected = selected;
    this.draw();
  }

  /** Scrolls a line into sight. */
  reveal(at: number): void {
    const top = at * this.rowHeight;
    const { scrollTop } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + this.rowHeight > scrollTop + this.height) this.element.scrollTop = top + this.rowHeight - this.height;
    this.draw();
  }

  focus(): void {
    this.element.querySelector<HTMLElement>('[role=treeitem][tabindex="0"]')?.focus({ preventScroll: true });
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.draw();
    });
  }

  private draw(): void {
    const { lines, rowHeight } = this;
    if (lines === null) return;
    this.canvas.style.height = `${lines.length * rowHeight}px`;
    const from = Math.max(0, Math.floor(this.element.scrollTop / rowHeight) - spare);
    const to = Math.min(lines.length, Math.ceil((this.element.scrollTop + this.height) / rowHeight) + spare);
    const tabStop = this.selected >= 0 ? this.selected : 0;
    const places: number[] = [];
    if (tabStop < from) places.push(tabStop);
    for (let at = from; at < to; at++) places.push(at);
    if (tabStop >= to && tabStop < lines.length) places.push(tabStop);
    const shown = places.map((at) => lines.at(at));
    const keys = shown.map(keyOf);
    const wanted = new Set(keys);
    for (const [key, row] of this.rows) {
      if (wanted.has(key)) continue;
      this.rows.delete(key);
      row.element.remove();
      const same = this.pool.get(row.icons);
      if (same === undefined) this.pool.set(row.icons, [row]);
      else same.push(row);
    }
    let place = this.canvas.firstElementChild;
    for (const [i, line] of shown.entries()) {
      const row = this.rowOf(keys[i]!, line);
      this.drawRow(row, line, places[i]!, places[i] === tabStop);
      if (place === row.element) place = place.nextElementSibling;
      else this.canvas.insertBefore(row.element, place);
    }
  }

  private rowOf(key: string, line: Line): Row {
    let row = this.rows.get(key);
    if (row === undefined) {
      row = this.pool.get(line.span?.kind ?? line.rollout.head.state)?.pop() ?? makeRow();
      row.drawn = '';
      row.element.dataset['key'] = key;
      this.rows.set(key, row);
    }
    row.line = line;
    return row;
  }

  private drawRow(row: Row, line: Line, at: number, isTabStop: boolean): void {
    const { element } = row;
    row.index = at;
    const top = at * this.rowHeight;
    if (row.top !== top) {
      row.top = top;
      element.style.transform = `translateY(${top}px)`;
    }
    const { rollout, span } = line;
    const { head } = rollout;
    const [name, label, title, note, failed] = span === null ? [head.state, stateWords[head.state], head.title, head.note, head.state === 'failed'] : [span.kind, kindWords[span.kind], span.title, span.note, span.failed];
    const credit = this.marks.credit(line);
    const credited = this.marks.credited(line);
    const now = this.marks.now();
    const extent = span === null ? 0 : rollout.extent(now);
    const left = span === null ? 0 : (span.start - rollout.begin) / extent;
    const width = span === null ? 0 : ((span.end ?? now) - span.start) / extent;
    const drawn = `${name}|${title}|${note}|${failed}|${line.expanded}|${line.level}|${left.toFixed(4)}|${width.toFixed(4)}|${at === this.selected}|${isTabStop}|${credit?.text}|${credited}|${line.position}|${line.siblings}|${rollout.failures}`;
    if (drawn === row.drawn) return;
    row.drawn = drawn;
    element.className = `row${span === null ? ' rollout' : ''}${failed ? ' failed' : ''}${credited ? ' credited' : ''}${line.expanded === null ? ' leaf' : ''}`;
    element.dataset['kind'] = span === null ? 'rollout' : span.kind;
    element.style.setProperty('--level', String(line.level - 1));
    element.setAttribute('aria-level', String(line.level));
    element.setAttribute('aria-selected', String(at === this.selected));
    element.setAttribute('aria-setsize', String(line.siblings === 0 ? -1 : line.siblings));
    if (line.position > 0) element.setAttribute('aria-posinset', String(line.position));
    else element.removeAttribute('aria-posinset');
    if (line.expanded === null) element.removeAttribute('aria-expanded');
    else element.setAttribute('aria-expanded', String(line.expanded));
    const tabIndex = isTabStop ? 0 : -1;
    if (element.tabIndex !== tabIndex) element.tabIndex = tabIndex;
    if (row.icons !== name) {
      row.icons = name;
      row.icon.className = `icon ${name}`;
      row.icon.setAttribute('aria-label', label);
      row.icon.replaceChildren(icon(name));
    }
    setText(row.title, title);
    setText(row.note, note);
    setText(row.badge, credit?.text ?? '');
    row.badge.hidden = credit === null;
    row.badge.dataset['tone'] = credit?.tone ?? 'none';
    if (credit !== null) row.badge.setAttribute('aria-label', t('credit {0}', credit.text));
    row.track.style.visibility = span === null ? 'hidden' : 'visible';
    if (span !== null) {
      row.bar.style.left = `${Math.min(0.985, left) * 100}%`;
      row.bar.style.width = `${Math.max(0, Math.min(1 - left, width)) * 100}%`;
    }
  }

  private rowAt(target: EventTarget | null): Row | undefined {
    const element = target instanceof Element ? target.closest('[role=treeitem]') : null;
    return element === null ? undefined : [...this.rows.values()].find((row) => row.element === element);
  }

  private click(event: Event): void {
    const row = this.rowAt(event.target);
    const line = row?.line;
    if (row === undefined || line == null) return;
    const onTwisty = event.target instanceof Element && event.target.closest('.twisty') !== null;
    if (line.expanded !== null && (onTwisty || row.index === this.selected)) this.events.toggle(line, !line.expanded);
    this.events.select(line, row.index);
    this.focus();
  }

  private key(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { lines } = this;
    const row = this.rowAt(document.activeElement);
    const line = row?.line;
    if (lines === null || row === undefined || line == null) return;
    const at = row.index;
    const page = Math.max(1, Math.floor(this.height / this.rowHeight) - 1);
    const go = (index: number): void => {
      const next = Math.max(0, Math.min(lines.length - 1, index));
      this.events.select(lines.at(next), next);
      this.reveal(next);
      this.focus();
    };
    const actions: Record<string, () => void> = {
      ArrowDown: () => { go(at + 1); },
      ArrowUp: () => { go(at - 1); },
      PageDown: () => { go(at + page); },
      PageUp: () => { go(at - page); },
      Home: () => { go(0); },
      End: () => { go(lines.length - 1); },
      ArrowRight: () => { if (line.expanded === false) this.events.toggle(line, true); else if (line.expanded === true) go(at + 1); },
      ArrowLeft: () => { if (line.expanded === true) this.events.toggle(line, false); else go(parentOf(lines, at)); },
      Enter: () => { if (line.expanded !== null) this.events.toggle(line, !line.expanded); },
      ' ': () => { this.events.select(line, at); },
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  }
}

function parentOf(lines: Lines, at: number): number {
  const level = lines.levelAt(at);
  for (let above = at - 1; above >= 0; above--) if (lines.levelAt(above) < level) return above;
  return at;
}

function makeRow(): Row {
  const row: Row = {
    element: h('div', { role: 'treeitem' }), twisty: h('span', { class: 'twisty' }), icon: h('span', { class: 'icon', role: 'img' }), title: h('span', { class: 'title' }), badge: h('span', { class: 'badge' }), note: h('span', { class: 'note' }),
    track: h('span', { class: 'time', 'aria-hidden': 'true' }), bar: h('i'), line: null, drawn: '', index: -1, top: -1, icons: '',
  };
  row.twisty.append(icon('twisty'));
  row.track.append(row.bar);
  row.element.append(row.twisty, row.icon, row.title, row.badge, row.note, row.track);
  return row;
}
