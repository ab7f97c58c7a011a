import type { RunHeader } from '../../trainer/protocol/views.ts';
import { h, part, setText } from './dom.ts';

/** The head of both pages: which run, what it does, and the buttons for it. */
export function runHeaderView(actions: (header: RunHeader) => HTMLElement[]): { element: HTMLElement; update: (header: RunHeader, buttonsDependOn?: unknown) => void } {
  const title = h('h1');
  const dot = h('span', { class: 'dot', 'aria-hidden': 'true' });
  const status = h('span', { role: 'status', class: 'status-text' });
  const buttons = h('div', { class: 'actions' });
  const error = h('p', { class: 'callout error', role: 'alert', hidden: true });
  const drawButtons = part(buttons, ([header]: [RunHeader, unknown]) => actions(header));
  const element = h('header', { class: 'run-header' }, h('div', { class: 'run-title' }, title, h('p', { class: 'run-status' }, dot, status)), buttons, error);
  return {
    element,
    update(header, buttonsDependOn = null) {
      setText(title, header.title);
      setText(status, header.statusText);
      dot.dataset['status'] = header.status;
      drawButtons([header, buttonsDependOn]);
      setText(error, header.error ?? '');
      error.hidden = header.error === null;
    },
  };
}

export function button(label: string, appearance: 'primary' | 'secondary', onClick: () => void): HTMLElement {
  return h('vscode-button', { appearance, click: onClick }, label);
}
