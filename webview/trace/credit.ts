import { t } from '../../trainer/protocol/l10n.ts';
import type { CreditRule } from '../../trainer/protocol/credit.ts';
import type { CreditView, SpanRow } from '../../trainer/protocol/trace-views.ts';
import { h } from '../shared/dom.ts';

export interface CreditEvents { rule(rule: CreditRule): void; link(reward: string, calls: string[] | null): void; open(span_id: string): void }

const rules: Record<CreditRule['kind'], string> = { final: t('Final reward only'), per_step: t('Per step'), discounted: t('Discounted') };
const explanations: Record<CreditRule['kind'], string> = {
  final: t('The last reward credits every call alike. This is how training learns.'),
  per_step: t('Each reward credits the call it is linked to.'),
  discounted: t('Each reward credits the call it is linked to, and the calls before it with a factor per call.'),
};

/** The rule of the run, and what the selected reward or call has to do with credit. */
export function creditView(credit: CreditView, span: SpanRow, events: CreditEvents): HTMLElement[] {
  const select = h('select', { 'aria-label': t('Credit rule'), change: (event: Event) => { events.rule(ruleOf((event.target as HTMLSelectElement).value, credit.rule)); } },
    ...(Object.keys(rules) as CreditRule['kind'][]).map((kind) => h('option', { value: kind, selected: credit.rule.kind === kind }, rules[kind])));
  const gamma = credit.rule.kind !== 'discounted' ? null : h('label', { class: 'gamma' }, 'γ ', h('input', {
    type: 'number', min: '0.01', max: '1', step: '0.01', value: credit.rule.gamma, 'aria-label': t('Discount factor per call'),
    change: (event: Event) => {
      const value = Number((event.target as HTMLInputElement).value);
      if (value > 0 && value <= 1) events.rule({ kind: 'discounted', gamma: value });
    },
  }));
  return [
    h('div', { class: 'credit-rule' }, select, gamma),
    h('p', { class: 'quiet' }, explanations[credit.rule.kind]),
    ...(span.kind === 'reward' ? linksOf(credit, span, events) : sharesOf(credit, span)),
    credit.note === null ? null : h('p', { class: 'quiet' }, credit.note),
  ].filter((element) => element !== null);
}

function ruleOf(kind: string, before: CreditRule): CreditRule {
  if (kind === 'discounted') return { kind, gamma: before.kind === 'discounted' ? before.gamma : 0.9 };
  return { kind: kind === 'per_step' ? 'per_step' : 'final' };
}

/** The calls, ticked where this reward credits them. */
function linksOf(credit: CreditView, span: SpanRow, events: CreditEvents): HTMLElement[] {
  const reward = credit.rewards.find((each) => each.span_id === span.span_id);
  if (reward === undefined) return [];
  const linked = new Set(reward.calls);
  const boxes = credit.calls.map((call) => {
    const box = h('input', { type: 'checkbox', checked: linked.has(call.span_id), change: (event: Event) => {
      if ((event.target as HTMLInputElement).checked) linked.add(call.span_id);
      else linked.delete(call.span_id);
      events.link(reward.span_id, credit.calls.map((each) => each.span_id).filter((id) => linked.has(id)));
    } });
    return h('li', {}, h('label', {}, box, h('span', { class: 'call-title' }, call.title), h('span', { class: 'credit-value' }, call.credit ?? t('none'))));
  });
  return [
    h('h3', {}, t('Credits these calls')),
    boxes.length === 0 ? h('p', { class: 'quiet' }, t('This attempt made no LLM call.')) : h('ul', { class: 'calls' }, ...boxes),
    ...(reward.byHand ? [h('vscode-button', { appearance: 'secondary', click: () => { events.link(reward.span_id, null); } }, t('Link as the rule does'))] : []),
  ];
}

function sharesOf(credit: CreditView, span: SpanRow): HTMLElement[] {
  const call = credit.calls.find((each) => each.span_id === span.span_id);
  if (call === undefined) return [];
  const from = credit.rewards.filter((reward) => reward.calls.includes(span.span_id)).map((reward) => `${reward.name} ${reward.value}`);
  const fields: [string, string][] = [[t('Credit'), call.credit ?? t('none')], [t('Advantage'), call.advantage === null ? t('none') : call.advantage.toFixed(3)], ...(from.length > 0 ? [[t('Linked rewards'), from.join(', ')] as [string, string]] : [])];
  return [h('dl', { class: 'fields' }, ...fields.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]))];
}
