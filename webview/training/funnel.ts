import { plural, t } from '../../trainer/protocol/l10n.ts';
import type { FunnelView } from '../../trainer/protocol/views.ts';
import { h } from '../shared/dom.ts';
import { svg } from '../shared/svg.ts';

const columnWidth = 100;
const barWidth = 56;
const height = 84;
/** Space below the bars in which losses fall. */
const depth = 26;

/**
 * Where the samples of a step went, as a picture: a band that narrows at each stage, what is lost falling out of it. Each
 * loss is named below and chooses its rollouts.
 */
export function funnelView(funnel: FunnelView, chosen: number | null, choose: (loss: number | null) => void): Element[] {
  const toggle = (loss: number): void => { choose(loss === chosen ? null : loss); };
  const labels = h('ol', { class: 'stages' }, ...funnel.stages.map((stage) => h('li', {}, h('span', { class: 'count' }, stage.count.toLocaleString('en-US')), h('span', { class: 'stage' }, stage.title))));
  const losses = funnel.losses.map((loss, index) => h('li', {}, h('button', {
    type: 'button', 'aria-pressed': String(index === chosen), click: () => { toggle(index); },
    title: index === chosen ? t('Show all rollouts of the step again') : t('Show the rollouts this happened in'),
  }, h('span', { class: 'lost' }, `−${loss.count.toLocaleString('en-US')}`), h('span', { class: 'reason' }, loss.reason), h('span', { class: 'where' }, whereText(funnel, index)))));
  return [
    labels,
    picture(funnel, chosen, toggle),
    losses.length === 0 ? h('p', { class: 'quiet' }, t('Nothing was lost.')) : h('ul', { class: 'losses', 'aria-label': t('What was lost') }, ...losses),
  ];
}

function whereText({ stages, losses }: FunnelView, index: number): string {
  const loss = losses[index];
  const stage = stages[loss?.stage ?? 0]?.title ?? '';
  const rollouts = plural(loss?.rollouts ?? 0, '{0} rollout', '{0} rollouts');
  return loss?.unit === 'rollouts' ? t('rollouts before “{0}”, in {1}', stage, rollouts) : t('calls before “{0}”, in {1}', stage, rollouts);
}

function picture(funnel: FunnelView, chosen: number | null, toggle: (loss: number) => void): SVGElement {
  const { stages, losses } = funnel;
  const shapes = stages.flatMap((stage, index): Node[] => {
    const x = index * columnWidth;
    const next = stages[index + 1];
    const own = stage.share * height;
    if (next === undefined) return [svg('rect', { class: 'band last', x, y: 0, width: barWidth, height: own })];
    const kept = Math.min(own, next.share * height);
    return [
      svg('rect', { class: 'band', x, y: 0, width: barWidth, height: own }),
      svg('rect', { class: 'band flow', x: x + barWidth, y: 0, width: columnWidth - barWidth, height: kept }),
      ...drops(losses.flatMap((loss, at) => (loss.stage === index + 1 ? [{ count: loss.count, at }] : [])), x + barWidth, kept, own, chosen, toggle),
    ];
  });
  const words = stages.map((stage) => `${stage.title} ${stage.count}`).join(', ');
  return svg('svg', { class: 'funnel-picture', viewBox: `0 0 ${(stages.length - 1) * columnWidth + barWidth} ${height + depth}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': t('Sample funnel: {0}', words) }, ...shapes);
}

/** The band between `top` and `bottom` leaves at `x`, divided among its losses, and falls out of the picture. */
function drops(losses: { count: number; at: number }[], x: number, top: number, bottom: number, chosen: number | null, toggle: (loss: number) => void): Node[] {
  const total = losses.reduce((sum, loss) => sum + loss.count, 0);
  const seen = Math.max(bottom - top, 3); // a small loss is a loss: never too thin to be seen
  const floor = height + depth;
  let from = top;
  let out = x + 12;
  return losses.map(({ count, at }) => {
    const to = from + (seen * count) / Math.max(1, total);
    const width = Math.max(4, Math.min(34, ((to - from) / height) * 60)) * Math.min(1, 2 / losses.length);
    const path = `M${x} ${from} C${out + width} ${from} ${out + width} ${from + 8} ${out + width} ${floor} L${out} ${floor} C${out} ${to + 6} ${x + 8} ${to} ${x} ${to} Z`;
    from = to;
    out += width + 3;
    return svg('path', { class: at === chosen ? 'drop chosen' : 'drop', d: path, click: () => { toggle(at); } });
  });
}
