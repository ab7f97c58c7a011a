import { t } from '../../trainer/protocol/l10n.ts';
import type { StepView } from '../../trainer/protocol/views.ts';
import { h, part } from '../shared/dom.ts';
import { funnelView } from './funnel.ts';

interface Actions { step: (step: number | null) => void; loss: (loss: number | null) => void; open: (rollout_id: string) => void }

/** One step in detail: which one, its funnel, its rollouts. */
export function stepDetailView(actions: Actions): { element: HTMLElement; update: (view: StepView | null) => void } {
  const head = h('div', { class: 'section-head' });
  const funnel = h('div', { class: 'funnel' });
  const samples = h('div', { class: 'samples' });
  const element = h('section', { 'aria-label': t('Step') }, head, h('div', { class: 'step-body' }, funnel, samples));
  const drawHead = part(head, (view: Pick<StepView, 'step' | 'steps' | 'follows'>) => stepChoice(view, actions));
  const drawFunnel = part(funnel, (view: Pick<StepView, 'funnel' | 'loss'>) => [h('h3', {}, t('Where the samples went')), ...funnelView(view.funnel, view.loss, actions.loss)]);
  const drawSamples = part(samples, (view: Pick<StepView, 'groups' | 'loss' | 'funnel'>) => sampleList(view, actions));
  return {
    element,
    update(view) {
      element.hidden = view === null;
      if (view === null) return;
      element.dataset['step'] = String(view.step + 1);
      drawHead({ step: view.step, steps: view.steps, follows: view.follows });
      drawFunnel({ funnel: view.funnel, loss: view.loss });
      drawSamples({ groups: view.groups, loss: view.loss, funnel: view.funnel });
    },
  };
}

function stepChoice({ step, steps, follows }: Pick<StepView, 'step' | 'steps' | 'follows'>, { step: go }: Actions): HTMLElement[] {
  const at = steps.indexOf(step);
  const to = (index: number, label: string, text: string): HTMLElement => {
    const target = steps[index];
    return h('button', { type: 'button', class: 'small', 'aria-label': label, title: label, disabled: target === undefined, click: () => { if (target !== undefined) go(target); } }, text);
  };
  return [
    h('h2', {}, t('Step {0}', step + 1)),
    h('div', { class: 'stepper' }, to(at - 1, t('Earlier step'), '‹'), to(at + 1, t('Later step'), '›'),
      follows ? h('span', { class: 'quiet' }, t('newest')) : h('button', { type: 'button', class: 'link', click: () => { go(null); } }, t('Show the newest'))),
  ];
}

function sampleList({ groups, loss, funnel }: Pick<StepView, 'groups' | 'loss' | 'funnel'>, actions: Actions): HTMLElement[] {
  const reason = loss === null ? null : funnel.losses[loss]?.reason ?? null;
  const count = (groups ?? []).reduce((sum, group) => sum + group.samples.length, 0);
  const title = h('h3', {}, reason === null ? t('Rollouts by task') : t('Rollouts with “{0}”', reason), h('span', { class: 'unit' }, groups === null ? t('being read…') : t('{0} · click one to see its trace', count.toLocaleString('en-US'))));
  if (groups === null) return [title];
  const rows = groups.map((group) => h('li', {}, h('span', { class: 'task', title: group.task }, group.task),
    h('span', { class: 'marks' }, ...group.samples.map((sample) => {
      const mark = h('button', { type: 'button', class: 'mark', 'data-state': sample.state, title: sample.hint, 'aria-label': t('{0}. Open its trace', sample.hint), click: () => { actions.open(sample.rollout_id); } }, sample.label);
      if (sample.level !== null) mark.style.setProperty('--level', `${Math.round(12 + sample.level * 48)}%`);
      return mark;
    }))));
  const back = reason === null ? null : h('button', { type: 'button', class: 'link', click: () => { actions.loss(null); } }, t('Show all rollouts of the step'));
  const list = rows.length === 0 ? h('p', { class: 'quiet' }, t('The rollouts of this step are not kept any more.')) : h('ul', { class: 'tasks', tabindex: 0, 'aria-label': t('Rollouts by task') }, ...rows);
  return [title, ...(back === null ? [] : [back]), list];
}
