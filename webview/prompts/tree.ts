import { t } from '../../trainer/protocol/l10n.ts';
import type { CandidateRow } from '../../trainer/protocol/prompt-views.ts';
import { h, setText } from '../shared/dom.ts';
import { icon } from '../shared/icons.ts';

const stateIcons: Record<CandidateRow['state'], string> = { proposed: 'running', rejected: 'failed', dropped: 'cancelled', kept: 'scored', unfinished: 'waiting' };
const stateWords: Record<CandidateRow['state'], string> = { proposed: t('being tried'), rejected: t('rejected'), dropped: t('dropped'), kept: t('kept'), unfinished: t('not finished') };

interface Row { element: HTMLElement; icon: HTMLElement; title: HTMLElement; marks: HTMLElement; tasks: HTMLElement; score: HTMLElement; note: HTMLElement; drawn: string; row: CandidateRow }

/**
 * Who came from whom, as a tree after the ARIA practices: one tab stop, arrows move and select. The critique or rejection of
 * the line under the pointer or in focus is shown beside it; Escape hides it.
 */
export function searchTree(select: (candidate_id: string) => void): { element: HTMLElement; update: (rows: readonly CandidateRow[], selected: string | null) => void } {
  const element = h('div', { class: 'search-tree', role: 'tree', 'aria-label': t('Candidates, each below the one it came from') });
  const hint = h('div', { class: 'hint', role: 'tooltip', id: 'candidate-hint', hidden: true });
  const known = new Map<string, Row>();
  let order: readonly CandidateRow[] = [];
  let chosen: string | null = null;
  let hinted: Row | null = null;

  const showHint = (row: Row | undefined): void => {
    hinted?.element.removeAttribute('aria-describedby');
    hinted = row === undefined || row.row.hint === '' ? null : row;
    hint.hidden = hinted === null;
    if (hinted === null) return;
    setText(hint, hinted.row.hint);
    hinted.element.setAttribute('aria-describedby', hint.id);
    hint.style.top = `${hinted.element.offsetTop + hinted.element.offsetHeight + 2}px`;
  };
  const rowAt = (target: EventTarget | null): Row | undefined => {
    const at = target instanceof Element ? target.closest<HTMLElement>('[role=treeitem]') : null;
    return at === null ? undefined : known.get(at.dataset['candidate'] ?? '');
  };
  element.addEventListener('mouseover', (event) => { showHint(rowAt(event.target)); });
  element.addEventListener('mouseleave', () => { showHint(undefined); });
  element.addEventListener('focusin', (event) => { showHint(rowAt(event.target)); });
  element.addEventListener('focusout', () => { showHint(undefined); });
  element.addEventListener('click', (event) => {
    const row = rowAt(event.target);
    if (row !== undefined) go(row.row.candidate_id);
  });
  element.addEventListener('keydown', (event) => {
    const at = order.findIndex(({ candidate_id }) => candidate_id === rowAt(document.activeElement)?.row.candidate_id);
    const here = order[at];
    if (here === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    const target: Record<string, () => CandidateRow | undefined> = {
      ArrowDown: () => order[at + 1], ArrowUp: () => order[at - 1], Home: () => order[0], End: () => order.at(-1),
      ArrowRight: () => (order[at + 1]?.level === here.level + 1 ? order[at + 1] : undefined),
      ArrowLeft: () => order.slice(0, at).findLast(({ level }) => level < here.level),
      Enter: () => here, ' ': () => here,
    };
    if (event.key === 'Escape') showHint(undefined);
    const move = target[event.key];
    if (move === undefined) return;
    event.preventDefault();
    const next = move();
    if (next !== undefined) go(next.candidate_id);
  });

  function go(candidate_id: string): void {
    chosen = candidate_id;
    draw();
    known.get(candidate_id)?.element.focus();
    select(candidate_id);
  }

  function draw(): void {
    const tabStop = order.some(({ candidate_id }) => candidate_id === chosen) ? chosen : order[0]?.candidate_id ?? null;
    for (const row of order) {
      const shown = known.get(row.candidate_id);
      if (shown === undefined) continue;
      shown.element.setAttribute('aria-selected', String(row.candidate_id === chosen));
      shown.element.tabIndex = row.candidate_id === tabStop ? 0 : -1;
    }
  }

  return {
    element: h('div', { class: 'search-tree-host' }, element, hint),
    update(rows, selected) {
      order = rows;
      chosen = selected;
      for (const [id, { element: gone }] of known) {
        if (rows.some(({ candidate_id }) => candidate_id === id)) continue;
        gone.remove();
        known.delete(id);
      }
      let place = element.firstElementChild;
      for (const row of rows) {
        let shown = known.get(row.candidate_id);
        if (shown === undefined) {
          shown = makeRow(row);
          known.set(row.candidate_id, shown);
        }
        drawRow(shown, row);
        if (place === shown.element) place = place.nextElementSibling;
        else element.insertBefore(shown.element, place);
      }
      draw();
    },
  };
}

function makeRow(row: CandidateRow): Row {
  const made: Row = {
    element: h('div', { role: 'treeitem', class: 'candidate', tabindex: -1, 'data-candidate': row.candidate_id }), icon: h('span', { class: 'icon', role: 'img' }), title: h('span', { class: 'title' }), marks: h('span', { class: 'marks' }),
    note: h('span', { class: 'note' }), tasks: h('span', { class: 'changes' }), score: h('span', { class: 'score' }), drawn: '', row,
  };
  made.element.append(made.icon, made.title, made.marks, made.note, made.tasks, made.score);
  return made;
}

function drawRow(shown: Row, row: CandidateRow): void {
  const drawn = JSON.stringify(row);
  shown.row = row;
  if (drawn === shown.drawn) return;
  shown.drawn = drawn;
  const { element } = shown;
  element.style.setProperty('--level', String(row.level - 1));
  element.dataset['state'] = row.state;
  element.toggleAttribute('data-best', row.best);
  element.setAttribute('aria-level', String(row.level));
  element.setAttribute('aria-posinset', String(row.position));
  element.setAttribute('aria-setsize', String(row.siblings));
  const [shape, words] = row.best ? ['reward', t('best on validation')] : [stateIcons[row.state], stateWords[row.state]];
  shown.icon.className = `icon ${shape}`;
  shown.icon.setAttribute('aria-label', words);
  shown.icon.title = words;
  shown.icon.replaceChildren(icon(shape));
  setText(shown.title, row.title);
  setText(shown.note, row.note);
  shown.marks.replaceChildren(...(row.applied ? [mark('source', t('in the source now'))] : []), ...(row.pinned ? [mark('pin', t('pinned: never dropped'))] : []));
  shown.tasks.replaceChildren(...(row.wins + row.losses === 0 ? [] : [h('span', { class: 'won', 'aria-label': t('better on {0} tasks', row.wins), title: t('Better on {0} validation tasks', row.wins) }, `+${row.wins}`), ' ', h('span', { class: 'lost', 'aria-label': t('worse on {0} tasks', row.losses), title: t('Worse on {0} validation tasks', row.losses) }, `−${row.losses}`)]));
  setText(shown.score, row.score);
}

function mark(shape: string, words: string): HTMLElement {
  return h('span', { class: 'icon', role: 'img', 'aria-label': words, title: words, 'data-mark': shape }, icon(shape));
}
