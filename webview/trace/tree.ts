import { h, setText } from '../shared/dom.ts';
import { icon } from './icons.ts';
import type { Line } from './model.ts';

export interface TreeEvents { select: (line: Line) => void; toggle: (line: Line, expand: boolean) => void }

/** What is drawn beside a line's title. */
export interface Marks { credit(line: Line): { text: string; tone: 'good' | 'bad' | 'none' } | null; credited(line: Line): boolean; now(): number }

const kindWords = { llm: 'LLM call', operation: 'operation', reward: 'reward', message: 'message', exception: 'exception', other: 'span' } as const;
/** Lines drawn above and below the visible ones, so that a scroll step finds them there. */
const spare = 6;

interface Row {
  element: HTMLElement; twisty: HTMLElement; icon: HTMLElement; title: HTMLElement; badge: HTMLElement; note: HTMLElement; track: HTMLElement; bar: HTMLElement;
  key: string; drawn: string; index: number; icons: string;
}

/**
 * A tree as the ARIA practices describe it, of any length: only the lines in sight have elements, and the elements are
 * used again. One tab stop, the selected line, whose element is kept even out of sight, so that focus is never lost.
 */
export class Tree {
  readonly element = h('div', { class: 'tree', role: 'tree', 'aria-label': 'Rollouts and their spans' });
  private readonly canvas = h('div', { class: 'canvas', role: 'presentation' });
  private readonly events: TreeEvents;
  private readonly marks: Marks;
  private readonly rows = new Map<string, Row>();
  private readonly pool: Row[] = [];
  private lines: Line[] = [];
  private index = new Map<string, number>();
  private selected: string | null = null;
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

  update(lines: Line[], selected: string | null): void {
    this.lines = lines;
    this.index = new Map();
    for (let i = 0; i < lines.length; i++) this.index.set(lines[i]!.key, i);
    this.selected = selected;
    this.draw();
  }

  /** Scrolls a line into sight. */
  reveal(key: string): void {
    const at = this.index.get(key);
    if (at === undefined) return;
    const top = at * this.rowHeight;
    const { scrollTop } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + this.rowHeight > scrollTop + this.height) this.element.scrollTop = top + this.rowHeight - this.height;
    this.draw();
  }

  focus(): void {
    this.rows.get(this.selected ?? '')?.element.focus({ preventScroll: true });
  }

  lineOf(key: string): Line | undefined {
    const at = this.index.get(key);
    return at === undefined ? undefined : this.lines[at];
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
    this.canvas.style.height = `${lines.length * rowHeight}px`;
    const from = Math.max(0, Math.floor(this.element.scrollTop / rowHeight) - spare);
    const to = Math.min(lines.length, Math.ceil((this.element.scrollTop + this.height) / rowHeight) + spare);
    const tabStop = this.selected !== null && this.index.has(this.selected) ? this.selected : lines[0]?.key ?? null;
    const kept = tabStop === null ? -1 : this.index.get(tabStop)!;
    for (const [key, row] of this.rows) {
      const at = this.index.get(key);
      if (at !== undefined && ((at >= from && at < to) || at === kept)) continue;
      this.rows.delete(key);
      row.element.remove();
      this.pool.push(row);
    }
    let place = this.canvas.firstElementChild;
    const show = (at: number): void => {
      const line = lines[at]!;
      const row = this.rowOf(line);
      this.drawRow(row, line, at, line.key === tabStop);
      if (place === row.element) place = place.nextElementSibling;
      else this.canvas.insertBefore(row.element, place);
    };
    if (kept >= 0 && kept < from) show(kept);
    for (let at = from; at < to; at++) show(at);
    if (kept >= to) show(kept);
  }

  private rowOf(line: Line): Row {
    const known = this.rows.get(line.key);
    if (known !== undefined) return known;
    const row = this.pool.pop() ?? makeRow();
    row.key = line.key;
    row.element.dataset['key'] = line.key;
    row.drawn = '';
    this.rows.set(line.key, row);
    return row;
  }

  private drawRow(row: Row, line: Line, at: number, isTabStop: boolean): void {
    const { element } = row;
    if (row.index !== at) {
      row.index = at;
      element.style.transform = `translateY(${at * this.rowHeight}px)`;
    }
    const { rollout, span } = line;
    const { head } = rollout;
    const [name, label, title, note, failed] = span === null ? [head.state, head.state, head.title, head.note, head.state === 'failed'] : [span.kind, kindWords[span.kind], span.title, span.note, span.failed];
    const credit = this.marks.credit(line);
    const credited = this.marks.credited(line);
    const now = this.marks.now();
    const extent = span === null ? 0 : rollout.extent(now);
    const left = span === null ? 0 : (span.start - rollout.begin) / extent;
    const width = span === null ? 0 : ((span.end ?? now) - span.start) / extent;
    const drawn = `${name}|${title}|${note}|${failed}|${line.expanded}|${line.level}|${left.toFixed(4)}|${width.toFixed(4)}|${line.key === this.selected}|${isTabStop}|${credit?.text}|${credited}|${line.position}|${line.siblings}|${rollout.failures}`;
    if (drawn === row.drawn) return;
    row.drawn = drawn;
    element.className = `row${span === null ? ' rollout' : ''}${failed ? ' failed' : ''}${credited ? ' credited' : ''}${line.expanded === null ? ' leaf' : ''}`;
    element.dataset['kind'] = span === null ? 'rollout' : span.kind;
    element.style.setProperty('--level', String(line.level - 1));
    element.setAttribute('aria-level', String(line.level));
    element.setAttribute('aria-selected', String(line.key === this.selected));
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
    if (credit !== null) row.badge.setAttribute('aria-label', `credit ${credit.text}`);
    row.track.style.visibility = span === null ? 'hidden' : 'visible';
    if (span !== null) {
      row.bar.style.left = `${Math.min(0.985, left) * 100}%`;
      row.bar.style.width = `${Math.max(0, Math.min(1 - left, width)) * 100}%`;
    }
  }

  private click(event: Event): void {
    const target = event.target instanceof Element ? event.target : null;
    const line = this.lineOf(target?.closest<HTMLElement>('[role=treeitem]')?.dataset['key'] ?? '');
    if (line === undefined) return;
    if (line.expanded !== null && (target?.closest('.twisty') != null || line.key === this.selected)) this.events.toggle(line, !line.expanded);
    this.events.select(line);
    this.focus();
  }

  private key(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset['key'] : undefined;
    const at = this.index.get(focused ?? '');
    const line = at === undefined ? undefined : this.lines[at];
    if (at === undefined || line === undefined) return;
    const page = Math.max(1, Math.floor(this.height / this.rowHeight) - 1);
    const go = (index: number): void => {
      const next = this.lines[Math.max(0, Math.min(this.lines.length - 1, index))];
      if (next === undefined) return;
      this.events.select(next);
      this.reveal(next.key);
      this.focus();
    };
    const actions: Record<string, () => void> = {
      ArrowDown: () => { go(at + 1); },
      ArrowUp: () => { go(at - 1); },
      PageDown: () => { go(at + page); },
      PageUp: () => { go(at - page); },
      Home: () => { go(0); },
      End: () => { go(this.lines.length - 1); },
      ArrowRight: () => { if (line.expanded === false) this.events.toggle(line, true); else if (line.expanded === true) go(at + 1); },
      ArrowLeft: () => { if (line.expanded === true) this.events.toggle(line, false); else go(this.parentOf(at)); },
      Enter: () => { if (line.expanded !== null) this.events.toggle(line, !line.expanded); },
      ' ': () => { this.events.select(line); },
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  }

  private parentOf(at: number): number {
    const level = this.lines[at]!.level;
    for (let above = at - 1; above >= 0; above--) if (this.lines[above]!.level < level) return above;
    return at;
  }
}

function makeRow(): Row {
  const row: Row = {
    element: h('div', { role: 'treeitem' }), twisty: h('span', { class: 'twisty' }), icon: h('span', { class: 'icon', role: 'img' }), title: h('span', { class: 'title' }), badge: h('span', { class: 'badge' }), note: h('span', { class: 'note' }),
    track: h('span', { class: 'time', 'aria-hidden': 'true' }), bar: h('i'), key: '', drawn: '', index: -1, icons: '',
  };
  row.twisty.append(icon('twisty'));
  row.track.append(row.bar);
  row.element.append(row.twisty, row.icon, row.title, row.badge, row.note, row.track);
  return row;
}
