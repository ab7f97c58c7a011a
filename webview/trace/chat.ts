import { t } from '../../trainer/protocol/l10n.ts';
import type { ChatLine } from '../../trainer/protocol/trace-views.ts';
import { h } from '../shared/dom.ts';
import { textView } from './json-view.ts';

/** Messages above this many are folded to the last ones: what is new in a call is at its end. */
const shown = 12;

/** A call as the conversation it was; tool calls and their arguments folded. */
export function chatView(messages: ChatLine[]): HTMLElement[] {
  if (messages.length <= shown) return messages.map(messageView);
  const earlier = messages.slice(0, messages.length - shown);
  const fold = h('details', { class: 'earlier' }, h('summary', {}, t('{0} earlier messages', earlier.length)));
  fold.addEventListener('toggle', () => { if (fold.childElementCount === 1) fold.append(...earlier.map(messageView)); });
  return [fold, ...messages.slice(-shown).map(messageView)];
}

function messageView(message: ChatLine): HTMLElement {
  return h('div', { class: 'message', 'data-role': message.role },
    h('span', { class: 'role' }, message.name === null ? message.role : `${message.role} · ${message.name}`),
    message.text === '' ? null : textView(message.text),
    ...message.calls.map((call) => h('details', { class: 'tool-call' }, h('summary', {}, h('span', { class: 'tool-name' }, call.name), h('span', { class: 'quiet' }, ` ${glimpse(call.arguments)}`)), textView(call.arguments))));
}

function glimpse(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}

/** The same conversation to be changed, and what was changed in it. */
export function chatEditor(messages: ChatLine[], done: (edits: { index: number; text: string }[] | null) => void): HTMLElement {
  const fields = messages.flatMap((message) => {
    if (message.index === null) return [];
    const area = h('textarea', { rows: Math.min(14, Math.max(2, message.text.split('\n').length + 1)), 'aria-label': t('Message {0}, {1}', message.index + 1, message.role), spellcheck: 'false' }) as HTMLTextAreaElement;
    area.value = message.text;
    return [{ index: message.index, message, area }];
  });
  const edits = (): { index: number; text: string }[] => fields.filter(({ area, message }) => area.value !== message.text).map(({ index, area }) => ({ index, text: area.value }));
  return h('section', { class: 'editor' },
    h('h2', {}, t('Replay from this call')),
    h('p', { class: 'quiet' }, t('Change what the model was told, then continue from here. Earlier calls, and operations with plain results, are answered from the record; everything else runs again, as an attempt of its own.')),
    ...fields.map(({ message, area }) => h('label', { class: 'message', 'data-role': message.role }, h('span', { class: 'role' }, message.name === null ? message.role : `${message.role} · ${message.name}`), area)),
    h('div', { class: 'actions' },
      h('vscode-button', { appearance: 'primary', click: () => { done(edits()); } }, t('Run from here')),
      h('vscode-button', { appearance: 'secondary', click: () => { done(null); } }, t('Discard'))));
}
