import { t } from '../../trainer/protocol/l10n.ts';
import type { CreditView, Detail, Section, SpanRow, TokensView } from '../../trainer/protocol/trace-views.ts';
import { h } from '../shared/dom.ts';
import { button } from '../shared/run-header.ts';
import { chatEditor, chatView } from './chat.ts';
import { creditView } from './credit.ts';
import type { CreditEvents } from './credit.ts';
import { textView } from './json-view.ts';
import { tokensView } from './tokens.ts';
import type { Colouring } from './token-tones.ts';

/** What is selected, and all that is known of it. `tokens` undefined: not asked for. */
export interface Shown {
  key: string;
  detail: Detail | null;
  span: SpanRow | null;
  credit: CreditView | null;
  tokens: { tokens: TokensView | null; problem: string | null } | null;
}

export interface DetailEvents extends CreditEvents {
  source: () => void;
  curl: () => void;
  compare: () => void;
  export: () => void;
  replay: (edits: { index: number; text: string }[]) => void;
  loadTokens: () => void;
}

/** What was said and done in the selected span or rollout. */
export function detailView(events: DetailEvents): { element: HTMLElement; update: (shown: Shown | null) => void } {
  const element = h('div', { class: 'detail', tabindex: 0, role: 'region', 'aria-label': t('Details of the selection') });
  let drawn = '';
  let key: string | null = null;
  let latest: Shown | null = null;
  /** The call whose conversation is being edited: not drawn over while it is. */
  let editing: string | null = null;
  let tokensOpen = false;
  let colouring: Colouring = 'logprob';

  const redraw = (): void => {
    drawn = '';
    update(latest);
  };

  function update(shown: Shown | null): void {
    latest = shown;
    if (shown?.key !== key) {
      element.scrollTop = 0;
      key = shown?.key ?? null;
      editing = null;
      if (tokensOpen && shown?.span?.kind === 'llm' && shown.tokens === null) events.loadTokens();
    }
    if (editing !== null) return;
    const now = JSON.stringify([shown, colouring]);
    if (now === drawn) return;
    const scroll = element.scrollTop;
    const focused = element.contains(document.activeElement) ? document.activeElement?.getAttribute('aria-label') : null;
    drawn = now;
    element.replaceChildren(...content(shown));
    element.scrollTop = scroll;
    if (focused != null) element.querySelector<HTMLElement>(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
  }

  function content(shown: Shown | null): HTMLElement[] {
    if (shown === null) return [h('p', { class: 'quiet' }, t('Spans appear on the left as the agent runs. Select one to see what was said.'))];
    const { detail } = shown;
    if (detail === null) return [h('p', { class: 'quiet' }, t('Loading…'))];
    return [h('h1', {}, detail.title), h('p', { class: 'facts-line' }, detail.facts), actionsOf(detail), ...detail.sections.flatMap((section) => sectionView(section, shown))];
  }

  function actionsOf(detail: Detail): HTMLElement {
    const actions: HTMLElement[] = [];
    if (detail.replay) actions.push(button(t('Replay from here…'), 'secondary', () => { edit(); }));
    if (detail.source !== null) actions.push(button(t('Go to {0}', detail.source), 'secondary', events.source));
    if (detail.curl) actions.push(button(t('Copy as cURL'), 'secondary', events.curl));
    if (detail.compare) actions.push(button(t('Compare with…'), 'secondary', events.compare), button(t('Export OTLP…'), 'secondary', events.export));
    return h('div', { class: 'actions', hidden: actions.length === 0 }, ...actions);
  }

  function edit(): void {
    const chat = latest?.detail?.sections.find((section) => section.kind === 'chat');
    if (chat === undefined || latest === null) return;
    editing = latest.key;
    element.replaceChildren(chatEditor(chat.messages, (edits) => {
      editing = null;
      redraw();
      if (edits !== null) events.replay(edits);
    }));
    element.scrollTop = 0;
    element.querySelector('textarea')?.focus();
  }

  function sectionView(section: Section, shown: Shown): HTMLElement[] {
    switch (section.kind) {
      case 'chat': return [h('section', {}, h('h2', {}, section.title), ...chatView(section.messages))];
      case 'text': return [h('section', {}, h('h2', {}, section.title), section.tone === 'note' ? h('p', { class: 'callout' }, section.text) : textView(section.text, `block ${section.tone}`))];
      case 'fields': return [h('section', {}, h('details', { open: section.fields.length <= 8 },
        h('summary', {}, section.title), h('dl', { class: 'fields' }, ...section.fields.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]))))];
      case 'credit': return shown.credit === null || shown.span === null ? [] : [h('section', { class: 'credit' }, h('h2', {}, t('Credit')), ...creditView(shown.credit, shown.span, events))];
      case 'tokens': return [tokensSection(shown)];
    }
  }

  function tokensSection({ tokens }: Shown): HTMLElement {
    const fold = h('details', { open: tokensOpen, class: 'tokens-section' }, h('summary', {}, t('Tokens')));
    fold.addEventListener('toggle', () => {
      const { open } = fold as HTMLDetailsElement;
      if (open === tokensOpen) return;
      tokensOpen = open;
      if (open && latest?.tokens == null) events.loadTokens();
    });
    if (tokens === null) fold.append(h('p', { class: 'quiet' }, t('Loading…')));
    else if (tokens.tokens === null) fold.append(h('p', { class: 'quiet' }, tokens.problem ?? ''));
    else fold.append(...tokensView(tokens.tokens, colouring, (chosen) => { colouring = chosen; redraw(); }));
    return h('section', {}, fold);
  }

  return { element, update };
}
