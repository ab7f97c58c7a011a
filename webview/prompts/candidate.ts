import { t } from '../../trainer/protocol/l10n.ts';
import type { CandidateDetail, CandidateText, DiffBase, DiffPart } from '../../trainer/protocol/prompt-views.ts';
import { h } from '../shared/dom.ts';
import { button } from '../shared/run-header.ts';
import { promptText } from './agent.ts';
import { taskTable } from './tasks.ts';
import type { TaskFilter } from './tasks.ts';

interface Events {
  base: (base: DiffBase) => void;
  apply: (candidate_id: string) => void;
  pin: (candidate_id: string, pinned: boolean) => void;
  score: (candidate_id: string, texts: Record<string, string>) => void;
  trace: (rollout_id: string) => void;
}

/** The selected candidate: what it changes, why, and on which tasks it does better or worse. Not drawn over while its text is edited. */
export function candidateView(events: Events): { element: HTMLElement; update: (detail: CandidateDetail | null) => void; scored: (problem: string | null) => void } {
  const element = h('section', { class: 'candidate-detail', 'aria-label': t('Selected candidate') });
  let latest: CandidateDetail | null = null;
  let editing: string | null = null;
  let filter: TaskFilter = 'all';
  let drawn = '';

  const redraw = (): void => {
    drawn = '';
    update(latest);
  };

  function update(detail: CandidateDetail | null): void {
    latest = detail;
    element.hidden = detail === null;
    if (detail === null || editing === detail.candidate_id) return;
    editing = null;
    const now = JSON.stringify([detail, filter]);
    if (now === drawn) return;
    drawn = now;
    const focused = element.contains(document.activeElement) ? document.activeElement?.getAttribute('data-focus') : null;
    const scroll = element.querySelector('.task-rows')?.scrollTop ?? 0;
    element.replaceChildren(...content(detail));
    const rows = element.querySelector('.task-rows');
    if (rows !== null) rows.scrollTop = scroll;
    if (focused != null) element.querySelector<HTMLElement>(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
  }

  function content(detail: CandidateDetail): HTMLElement[] {
    const { candidate_id, title, facts, critique, rejection, texts, actions, pinned, applied } = detail;
    return [
      h('h2', {}, title, applied ? h('span', { class: 'mark' }, t('in source')) : null),
      h('div', { class: 'actions', hidden: !actions.apply && !actions.pin && !actions.edit },
        actions.apply ? marked('apply', button(candidate_id === 'c0' ? t('Restore this text…') : t('Apply…'), 'primary', () => { events.apply(candidate_id); })) : null,
        actions.pin ? marked('pin', button(pinned ? t('Unpin') : t('Pin'), 'secondary', () => { events.pin(candidate_id, !pinned); })) : null,
        actions.edit ? marked('edit', button(t('Edit…'), 'secondary', () => { edit(detail); })) : null),
      ...(rejection === null ? [] : [h('p', { class: 'callout error' }, rejection)]),
      h('dl', { class: 'facts-list' }, ...facts.flatMap(({ label, value }) => [h('dt', {}, label), h('dd', {}, value)])),
      ...(critique === null ? [] : [h('details', { class: 'critique', open: true }, h('summary', {}, t('Critique it came from')), h('p', {}, critique))]),
      h('div', { class: 'section-head' }, h('h3', {}, t('Text')), detail.hasParent ? baseChoice(detail.base) : null),
      ...texts.map((text) => textView(text, texts.length > 1)),
      ...taskTable(detail, filter, { trace: events.trace, filter: (chosen) => { filter = chosen; redraw(); } }),
    ];
  }

  function baseChoice(base: DiffBase): HTMLElement {
    return h('select', { 'aria-label': t('Compare with'), 'data-focus': 'base', change: (event) => { events.base((event.target as HTMLSelectElement).value as DiffBase); } },
      h('option', { value: 'source', selected: base === 'source' }, t('against the source now')), h('option', { value: 'parent', selected: base === 'parent' }, t('against its parent')));
  }

  function edit({ candidate_id, title, texts }: CandidateDetail): void {
    editing = candidate_id;
    const areas = texts.map(({ prompt_id, name, text }) => {
      const area = h('textarea', { rows: Math.min(24, text.split('\n').length + Math.ceil(text.length / 60) + 1), 'aria-label': t('Text of {0}', name), spellcheck: false }) as HTMLTextAreaElement;
      area.value = text;
      return { prompt_id, name, area };
    });
    const close = (): void => {
      editing = null;
      redraw();
      element.querySelector<HTMLElement>('[data-focus=edit]')?.focus();
    };
    element.replaceChildren(
      h('h2', {}, t('Edit: {0}', title)),
      h('p', { class: 'quiet' }, t('Your text becomes a candidate below this one and is scored on the validation tasks. Variables must stay as they are written.')),
      ...areas.flatMap(({ name, area }) => [h('h3', { class: 'text-name' }, name), area]),
      h('p', { class: 'callout error', role: 'alert', hidden: true, id: 'edit-problem' }),
      h('div', { class: 'actions' }, button(t('Score it'), 'primary', () => {
        element.querySelector('vscode-button')?.toggleAttribute('disabled', true);
        events.score(candidate_id, Object.fromEntries(areas.map(({ prompt_id, area }) => [prompt_id, area.value])));
      }), button(t('Cancel'), 'secondary', close)));
    areas[0]?.area.focus();
  }

  return {
    element, update,
    scored(problem) {
      if (editing === null) return;
      const told = element.querySelector<HTMLElement>('#edit-problem');
      element.querySelector('vscode-button')?.toggleAttribute('disabled', false);
      if (problem === null) {
        editing = null;
        redraw();
      } else if (told !== null) {
        told.textContent = problem;
        told.hidden = false;
      }
    },
  };
}

/** Found again by this name after the part was drawn anew. */
function marked(name: string, element: HTMLElement): HTMLElement {
  element.dataset['focus'] = name;
  return element;
}

function textView({ name, place, diff, parts }: CandidateText, named: boolean): HTMLElement {
  return h('div', { class: 'candidate-text' }, named ? h('p', { class: 'text-name' }, name, h('span', { class: 'quiet' }, ` ${place}`)) : null,
    diff === null ? h('p', { class: 'quiet' }, t('No difference.')) : null, diff === null ? promptText(parts) : diffView(diff));
}

function diffView(diff: readonly DiffPart[]): HTMLElement {
  return h('pre', { class: 'prompt-text diff', tabindex: 0, role: 'region', 'aria-label': t('What changes in the text') },
    ...diff.map(({ kind, text }) => (kind === 'same' ? text : h(kind === 'added' ? 'ins' : 'del', {}, text))));
}
