import { h, setText } from '../shared/dom.ts';
import { icon } from './icons.ts';
import type { Row } from './rows.ts';

interface Line { element: HTMLElement; drawn: string; icon: HTMLElement; title: HTMLElement; note: HTMLElement; bar: HTMLElement; track: HTMLElement }

export interface TreeEvents { select: (row: Row) => void; toggle: (row: Row, expand: boolean) => void }

/**
 * A tree as the ARIA practices describe it: one tab stop, arrows move, left and right fold. Lines are kept and only
 * changed ones are touched, so that focus and scrolling stay while spans arrive.
 */
export class Tree {
  readonly element = h('div', { class: 'tree', role: 'tree', 'aria-label': 'Rollouts and their spans' });
  private readonly events: TreeEvents;
  private readonly lines = new Map<string, Line>();
  private rows: Row[] = [];
  private selected: string | null = null;
  private started = false;

  constructor(events: TreeEvents) {
    this.events = events;
    this.element.addEventListener('keydown', (event) => { this.key(event); });
    this.element.addEventListener('click', (event) => { this.click(event); });
  }

  update(rows: Row[], selected: string | null): void {
    this.rows = rows;
    this.selected = selected;
    const keys = new Set(rows.map((row) => row.key));
    for (const [key, line] of this.lines) {
      if (keys.has(key)) continue;
      line.element.remove();
      this.lines.delete(key);
    }
    let place = this.element.firstElementChild;
    for (const [index, row] of rows.entries()) {
      const line = this.lineOf(row);
      this.draw(line, row, row.key === selected || (selected === null && index === 0));
      if (place === line.element) place = place.nextElementSibling;
      else this.element.insertBefore(line.element, place);
    }
    this.started = true;
  }

  private lineOf(row: Row): Line {
    const known = this.lines.get(row.key);
    if (known !== undefined) return known;
    const twisty = h('span', { class: 'twisty' });
    if (row.level === 1 || row.expanded !== null) twisty.append(icon('twisty'));
    const line: Line = { element: h('div', { role: 'treeitem' }), drawn: '', icon: h('span', { class: 'icon', role: 'img' }), title: h('span', { class: 'title' }), note: h('span', { class: 'note' }), bar: h('i'), track: h('span', { class: 'time', 'aria-hidden': 'true' }) };
    line.track.append(line.bar);
    line.element.append(twisty, line.icon, line.title, line.note, line.track);
    line.element.dataset['key'] = row.key;
    line.element.className = `row${this.started && row.span !== null ? ' fresh' : ''}`;
    this.lines.set(row.key, line);
    return line;
  }

  private draw(line: Line, row: Row, isTabStop: boolean): void {
    const { element } = line;
    const drawn = JSON.stringify([row.level, row.icon, row.title, row.note, row.failed, row.expanded, row.time, row.key === this.selected, isTabStop]);
    if (drawn === line.drawn) return;
    line.drawn = drawn;
    element.classList.toggle('rollout', row.span === null);
    element.classList.toggle('failed', row.failed);
    element.dataset['kind'] = row.span === null ? 'rollout' : row.icon;
    element.style.setProperty('--level', String(row.level - 1));
    element.setAttribute('aria-level', String(row.level));
    element.setAttribute('aria-selected', String(row.key === this.selected));
    if (row.expanded === null) element.removeAttribute('aria-expanded');
    else element.setAttribute('aria-expanded', String(row.expanded));
    element.tabIndex = isTabStop ? 0 : -1;
    const twisty = element.firstElementChild;
    if (row.expanded !== null && twisty !== null && twisty.childElementCount === 0) twisty.append(icon('twisty'));
    if (line.icon.dataset['name'] !== row.icon) {
      line.icon.dataset['name'] = row.icon;
      line.icon.className = `icon ${row.icon}`;
      line.icon.setAttribute('aria-label', row.label);
      line.icon.replaceChildren(icon(row.icon));
    }
    setText(line.title, row.title);
    setText(line.note, row.note);
    line.track.hidden = row.time === null;
    if (row.time !== null) {
      line.bar.style.left = `${Math.min(0.98, row.time.start) * 100}%`;
      line.bar.style.width = `${Math.max(0, row.time.width) * 100}%`;
    }
  }

  private click(event: Event): void {
    const target = event.target instanceof Element ? event.target : null;
    const row = this.rows.find((candidate) => candidate.key === target?.closest<HTMLElement>('[role=treeitem]')?.dataset['key']);
    if (row === undefined) return;
    if (row.expanded !== null && (target?.closest('.twisty') != null || row.key === this.selected)) this.events.toggle(row, !row.expanded);
    this.events.select(row);
    this.lines.get(row.key)?.element.focus();
  }

  private key(event: KeyboardEvent): void {
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset['key'] : undefined;
    const at = this.rows.findIndex((row) => row.key === focused);
    const row = this.rows[at];
    if (row === undefined) return;
    const go = (index: number): void => {
      const next = this.rows[Math.max(0, Math.min(this.rows.length - 1, index))];
      if (next === undefined) return;
      this.events.select(next);
      this.lines.get(next.key)?.element.focus();
    };
    const parent = this.rows.findIndex((candidate) => candidate.key === row.parent);
    const actions: Record<string, () => void> = {
      ArrowDown: () => { go(at + 1); },
      ArrowUp: () => { go(at - 1); },
      Home: () => { go(0); },
      End: () => { go(this.rows.length - 1); },
      ArrowRight: () => { if (row.expanded === false) this.events.toggle(row, true); else if (row.expanded === true) go(at + 1); },
      ArrowLeft: () => { if (row.expanded === true) this.events.toggle(row, false); else if (parent >= 0) go(parent); },
      Enter: () => { if (row.expanded !== null) this.events.toggle(row, !row.expanded); },
      ' ': () => { this.events.select(row); },
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  }
}
