import { t } from '../../trainer/protocol/l10n.ts';
import type { SettingField, SetupPatch, SetupView } from '../../trainer/protocol/prompt-views.ts';
import { h, part, setText } from '../shared/dom.ts';

interface Events {
  change: (patch: SetupPatch) => void;
  data: (part: 'data' | 'validation' | 'test') => void;
  splitOff: (part: 'validation' | 'test') => void;
  model: (of: 'agent' | 'optimizer') => void;
  start: () => void;
}

const limits = [['rollouts', t('Rollouts'), 1], ['minutes', t('Minutes'), 'any'], ['tokens', t('Tokens'), 1], ['usd', t('US dollars'), 'any']] as const;

/** A new search, with every default in sight. */
export function setupForm(events: Events): { element: HTMLElement; update: (view: SetupView) => void } {
  const data = h('div', { class: 'choices-list' });
  const prices = h('div', { class: 'grid' });
  const settings = h('div', { class: 'grid' });
  const problem = h('p', { class: 'quiet', id: 'setup-problem', role: 'status' });
  const start = h('vscode-button', { appearance: 'primary', class: 'start', 'aria-describedby': 'setup-problem', click: events.start }, t('Start search'));
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
    chosen(t('Tasks'), view.data ?? t('None chosen'), () => { events.data('data'); }),
    chosen(t('Validation tasks'), view.validation ?? t('Split off'), () => { events.data('validation'); }, view.validation === null ? null : () => { events.splitOff('validation'); }),
    chosen(t('Held-out tasks'), view.test ?? t('Split off'), () => { events.data('test'); }, view.test === null ? null : () => { events.splitOff('test'); }),
    chosen(t('Model of the agent'), view.model, () => { events.model('agent'); }),
    ...(view.algorithm === 'baseline' ? [] : [chosen(t('Model that rewrites'), view.optimizer, () => { events.model('optimizer'); })]),
  ]);
  /** Drawn for an algorithm, not for each value: one may be typing in the next field. */
  const drawSettings = part(settings, (items: Omit<SettingField, 'value'>[]) => items.map(({ algorithm, key, label, help: title }) => {
    const change = (value: number | boolean): void => { events.change({ field: { algorithm, key, value } }); };
    const field = h('input', { type: switches.has(key) ? 'checkbox' : 'number', min: 0, step: 1, change: () => { change(switches.has(key) ? field.checked : Number(field.value)); } }) as HTMLInputElement;
    fields.set(key, field);
    return switches.has(key) ? h('label', { class: 'choice', title }, field, label) : h('label', { class: 'field', title }, h('span', {}, label), field);
  }));
  prices.append(
    amount('input', t('Per million input tokens'), 'any', t('US dollars'), (input) => { events.change({ prices: { input } }); }),
    amount('output', t('Per million output tokens'), 'any', t('US dollars'), (output) => { events.change({ prices: { output } }); }));
  const element = h('section', { 'aria-label': t('New search'), class: 'setup' },
    h('h2', {}, t('New search')), h('div', { class: 'field' }, h('label', { for: 'algorithm' }, t('Algorithm')), select, help),
    h('fieldset', {}, h('legend', {}, t('Budget')), h('p', { class: 'quiet' }, t('The search ends at the first limit that is reached.')),
      h('div', { class: 'grid' }, ...limits.map(([key, label, step]) => amount(key, label, step, t('no limit'), (value) => { events.change({ limits: { [key]: value !== null && value > 0 ? value : null } }); }))), prices),
    h('fieldset', {}, h('legend', {}, t('Tasks and models')), data),
    h('details', { class: 'more' }, h('summary', {}, t('More settings')), settings, h('div', { class: 'grid' },
      amount('maxChars', t('Longest prompt, characters'), 1, '', (value) => { events.change({ maxChars: value !== null && value >= 1 ? Math.round(value) : null }); }),
      amount('seed', t('Seed'), 1, '', (value) => { events.change({ seed: Math.round(value ?? 0) }); }))),
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
      setText(problem, view.starting ? t('Starting…') : view.problem ?? '');
      start.toggleAttribute('disabled', view.problem !== null || view.starting);
    },
  };
}

function chosen(label: string, value: string, choose: () => void, splitOff: (() => void) | null = null): HTMLElement {
  return h('div', { class: 'chosen', role: 'group', 'aria-label': label }, h('span', { class: 'chosen-label' }, label), h('span', { class: 'chosen-value', title: value }, value),
    h('span', { class: 'chosen-actions' }, splitOff === null ? null : h('button', { type: 'button', class: 'link', 'aria-label': t('{0}: split off', label), click: splitOff }, t('Split off')),
      h('button', { type: 'button', class: 'link', 'aria-label': t('Choose: {0}', label), click: choose }, t('Choose…'))));
}
