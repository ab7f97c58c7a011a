import { t } from '../../trainer/protocol/l10n.ts';
import { h } from '../shared/dom.ts';

/** Objects and lists longer than this are folded, and their items made when they are opened. */
const openUpTo = 6;
const shownItems = 200;

/** The value a text holds when it is a JSON object or list; undefined: it is only text. */
export function jsonOf(text: string): object | undefined {
  const first = text.trimStart()[0];
  if (first !== '{' && first !== '[') return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Text as it is, or as a foldable tree when it is JSON. */
export function textView(text: string, className = ''): HTMLElement {
  const value = jsonOf(text);
  return value === undefined ? h('pre', { class: className }, text) : h('div', { class: `json ${className}` }, nodeView(null, value, true));
}

function nodeView(name: string | null, value: unknown, isTop: boolean): HTMLElement {
  const key = name === null ? null : h('span', { class: 'json-key' }, `${name}: `);
  if (typeof value !== 'object' || value === null) {
    return h('div', { class: 'json-leaf' }, key, h('span', { class: `json-${value === null ? 'null' : typeof value}` }, typeof value === 'string' ? value : JSON.stringify(value)));
  }
  const items: [string, unknown][] = Array.isArray(value) ? value.map((item, index) => [String(index), item]) : Object.entries(value);
  const size = Array.isArray(value) ? `[${items.length}]` : `{${items.length}}`;
  if (items.length === 0) return h('div', { class: 'json-leaf' }, key, h('span', { class: 'json-null' }, Array.isArray(value) ? '[]' : '{}'));
  const isOpen = isTop && items.length <= openUpTo;
  const details = h('details', { open: isOpen }, h('summary', {}, key, h('span', { class: 'json-size' }, size)));
  const fill = (): void => {
    if (details.childElementCount > 1) return;
    details.append(h('div', { class: 'json-items' }, ...items.slice(0, shownItems).map(([itemName, item]) => nodeView(itemName, item, false)), items.length > shownItems ? h('p', { class: 'quiet' }, t('{0} more', items.length - shownItems)) : null));
  };
  if (isOpen) fill();
  details.addEventListener('toggle', fill);
  return details;
}
