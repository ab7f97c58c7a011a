import type { SettingField, SetupPatch, SetupView } from '../../trainer/protocol/prompt-views.ts';
import { h, part, setText } from '../shared/dom.ts';

interface Events {
  change: (patch: SetupPatch) => void;
  data: (part: 'data' | 'validation' | 'test') => void;
  splitOff: (part: 'validation' | 'test') => void;
  model: (of: 'agent' | 'optimizer') => void;
  start: () => void;
}

const limits = [['rollouts', 'Rollouts', 1], ['minutes', 'Minutes', 'any'], ['tokens', 'Tokens', 1], ['usd', 'US dollars', 'any']] as const;

/** A new search, with every default in sight. */
export function setupForm(events: Events): { element: HTMLElement; update: (view: SetupView) => void } {
  const data = h('div', { class: 'choices-list' });
  const prices = h('div', { class: 'grid' });
  const settings = h('div', { class: 'grid' });
  const problem = h('p', { class: 'quiet', id: 'setup-problem', role: 'status' });
  const start = h('vscode-button', { appearance: 'primary', class: 'start', 'aria-describedby': 'setup-problem', click: events.start }, 'Start search');
  const fields = new Map<string, HTMLInputElement>();
  /** Settings that are on or off. */
  const switches = new Set<string>();
  const amount = (key: string, label: string, step: string | number, placeholder: string, changed: (value: number | null) => void): HTMLElement => {
    const field = h('input', { type: 'number', min: 0, step, placeholder, change: () => { changed(field.value === '' ? null : Number(field.value)); } }) as HTMLInputElement;
    fields.set(key, field);
    return h('label', { class: 'field' }, h('span', {}, label), field);
  };
  const select = h('select', { id: 'algorithm', 'aria-describedby': 'algorithm-help', change: () => { events.change({ algorithm: select.value as SetupView['algorithm'] }); } }) as HTMLSelectElement;
  const help = h('p', { class: 'quiet', id: 'algorithm-help' });
  const drawAlgorithms = part(select, (algorithms: SetupView['algorithms']) => algorithms.map(({ value, label }) => h('option', { value }, label)));
  const drawData = part(data, (view: Pick<SetupView, 'data' | 'validation' | 'test' | 'model' | 'optimizer' | 'algorithm'>) => [
    chosen('Tasks', view.data ?? 'None chosen', () => { events.data('data'); }),
    chosen('Validation tasks', view.validation ?? 'Split off', () => { events.data('validation'); }, view.validation === null ? null : () => { events.splitOff('validation'); }),
    chosen('Held-out tasks', view.test ?? 'Split off', () => { events.data('test'); }, view.test === null ? null : () => { events.splitOff('test'); }),
    chosen('Model of the agent', view.model, () => { events.model('agent'); }),
    ...(view.algorithm === 'baseline' ? [] : [chosen('Model that rewrites', view.optimizer, () => { events.model('optimizer'); })]),
  ]);
  /** Drawn for an algorithm, not for each value: one may be typing in the next field. */
  const drawSettings = part(settings, (items: Omit<SettingField, 'value'>[]) => items.map(({ algorithm, key, label, help: title }) => {
    const change = (value: number | boolean): void => { events.change({ field: { algorithm, key, value } }); };
    const field = h('input', { type: switches.has(key) ? 'checkbox' : 'number', min: 0, step: 1, change: () => { change(switches.has(key) ? field.checked : Number(field.value)); } }) as HTMLInputElement;
    fields.set(key, field);
    return switches.has(key) ? h('label', { class: 'choice', title }, field, label) : h('label', { class: 'field', title }, h('span', {}, label), field);
  }));
  prices.append(
    amount('input', 'Per million input tokens', 'any', 'US dollars', (input) => { events.change({ prices: { input } }); }),
    amount('output', 'Per million output tokens', 'any', 'US dollars', (output) => { events.change({ prices: { output } }); }));
  const element = h('section', { 'aria-label': 'New search', class: 'setup' },
    h('h2', {}, 'New search'), h('div', { class: 'field' }, h('label', { for: 'algorithm' }, 'Algorithm'), select, help),
    h('fieldset', {}, h('legend', {}, 'Budget'), h('p', { class: 'quiet' }, 'The search ends at the first limit that is reached.'),
      h('div', { class: 'grid' }, ...limits.map(([key, label, step]) => amount(key, label, step, 'no limit', (value) => { events.change({ limits: { [key]: value !== null && value > 0 ? value : null } }); }))), prices),
    h('fieldset', {}, h('legend', {}, 'Tasks and models'), data),
    h('details', { class: 'more' }, h('summary', {}, 'More settings'), settings, h('div', { class: 'grid' },
      amount('maxChars', 'Longest prompt, characters', 1, '', (value) => { events.change({ maxChars: value !== null && value >= 1 ? Math.round(value) : null }); }),
      amount('seed', 'Seed', 1, '', (value) => { events.change({ seed: Math.round(value ?? 0) }); }))),
    start, problem);

  const show = (key: string, value: number | boolean | null): void => {
    const field = fields.get(key);
    if (field === undefined || document.activeElement === field) return;
    if (typeof value === 'boolean') field.checked = value;
    else field.value = value === null ? '' : String(value);
  };
  return {
    element,
    update(view) {
      drawAlgorithms(view.algorithms);
      select.value = view.algorithm;
      setText(help, view.algorithms.find(({ value }) => value === view.algorithm)?.help ?? '');
      for (const [key, value] of Object.entries({ ...view.limits, ...view.prices, maxChars: view.maxChars, seed: view.seed })) show(key, value);
      fields.get('maxChars')?.setAttribute('placeholder', view.defaultMaxChars.toLocaleString('en-US'));
      prices.hidden = view.limits.usd === null;
      const { data, validation, test, model, optimizer, algorithm: shown } = view;
      drawData({ data, validation, test, model, optimizer, algorithm: shown });
      const settingsShown = view.fields.filter((field) => field.algorithm === shown);
      for (const { key, value } of settingsShown) if (typeof value === 'boolean') switches.add(key);
      drawSettings(settingsShown.map(({ value: _, ...field }) => field));
      for (const { key, value } of settingsShown) show(key, value);
      setText(problem, view.starting ? 'Starting…' : view.problem ?? '');
      start.toggleAttribute('disabled', view.problem !== null || view.starting);
    },
  };
}

function chosen(label: string, value: string, choose: () => void, splitOff: (() => void) | null = null): HTMLElement {
  return h('div', { class: 'chosen', role: 'group', 'aria-label': label }, h('span', { class: 'chosen-label' }, label), h('span', { class: 'chosen-value', title: value }, value),
    h('span', { class: 'chosen-actions' }, splitOff === null ? null : h('button', { type: 'button', class: 'link', 'aria-label': `${label}: split off`, click: splitOff }, 'Split off'),
      h('button', { type: 'button', class: 'link', 'aria-label': `Choose: ${label}`, click: choose }, 'Choose…')));
}
