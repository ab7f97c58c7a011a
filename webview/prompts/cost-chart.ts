import uPlot from 'uplot';
import { t } from '../../trainer/protocol/l10n.ts';
import type { CostChart } from '../../trainer/protocol/prompt-views.ts';
import { axisRange } from '../shared/axis.ts';
import { h, setText } from '../shared/dom.ts';
import { themeColor } from '../shared/palette.ts';

/** Score against cost: a step line of the best so far, a point for each scored candidate; a click selects the nearest. */
export function costChartView(select: (candidate_id: string) => void): { element: HTMLElement; update: (chart: CostChart) => void } {
  const area = h('div', { class: 'chart' });
  const head = h('span', { class: 'unit' });
  const element = h('figure', { class: 'cost-chart', role: 'img' }, h('figcaption', { class: 'chart-head' }, h('h3', {}, t('Validation score')), head), area);
  let chart: CostChart | null = null;
  let plot: uPlot | null = null;
  let drawn = '';

  const draw = (): void => {
    plot?.destroy();
    plot = null;
    if (chart === null || chart.points.length === 0 || area.clientWidth === 0) return;
    plot = new uPlot(options(area, chart), aligned(chart), area);
    plot.over.addEventListener('click', (event) => {
      const nearest = plot === null || chart === null ? undefined : nearestPoint(plot, chart, event);
      if (nearest !== undefined) select(nearest);
    });
  };
  new ResizeObserver(() => {
    if (plot === null) draw();
    else plot.setSize({ width: area.clientWidth, height: area.clientHeight });
  }).observe(area);
  // The theme sets its variables on the root element and its kind as a class of the body.
  const themed = new MutationObserver(draw);
  themed.observe(document.documentElement, { attributes: true, attributeFilter: ['style'] });
  themed.observe(document.body, { attributes: true, attributeFilter: ['class'] });

  return {
    element,
    update(next) {
      const key = JSON.stringify(next);
      if (key === drawn) return;
      drawn = key;
      chart = next;
      element.hidden = next.points.length === 0;
      element.dataset['points'] = String(next.points.length);
      setText(head, t('by {0}', next.unit));
      element.setAttribute('aria-label', description(next));
      draw();
    },
  };
}

/** The line, the kept points, the dropped ones, the best: over the x values of all. */
function aligned({ points: given, line }: CostChart): uPlot.AlignedData {
  const points = given.map((point, index) => ({ ...point, x: point.x + index * 1e-9 })); // of several at one place each is kept
  const xs = [...new Set([...points, ...line].map(({ x }) => x))].sort((a, b) => a - b);
  const at = (of: readonly { x: number; y: number }[]): (number | null)[] => {
    const byX = new Map(of.map(({ x, y }) => [x, y]));
    return xs.map((x) => byX.get(x) ?? null);
  };
  return [xs, at(line), at(points.filter(({ state, best }) => state === 'kept' && !best)), at(points.filter(({ state, best }) => state !== 'kept' && !best)), at(points.filter(({ best }) => best))];
}

function options(area: HTMLElement, chart: CostChart): uPlot.Options {
  const text = themeColor('--vscode-descriptionForeground', 'gray');
  const good = themeColor('--vscode-charts-green', 'seagreen');
  const busy = themeColor('--vscode-charts-blue', 'steelblue');
  const background = getComputedStyle(document.body).backgroundColor;
  const axis = { stroke: text, ticks: { show: false }, font: `11px ${getComputedStyle(document.body).fontFamily}` };
  const marks = (stroke: string, fill: string, size: number): uPlot.Series => ({ stroke, width: 0, paths: () => null, points: { show: true, size, stroke, fill, width: 1.5 } });
  return {
    width: area.clientWidth, height: area.clientHeight, legend: { show: false }, padding: [8, 10, 0, 0],
    cursor: { drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: { time: false, range: (_plot, _min, max) => [0, Math.max(max ?? 0, chart.limit ?? 0) * 1.02 || 1] },
      y: { range: () => scoreRange(chart) },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 24, space: 44, values: (_plot, ticks) => ticks.map((tick) => (tick >= 1000 ? `${+(tick / 1000).toPrecision(3)}k` : String(+tick.toPrecision(3)))) },
      { ...axis, grid: { stroke: `color-mix(in srgb, ${text} 22%, transparent)`, width: 1 }, size: 40, space: 24, values: (_plot, ticks) => ticks.map((tick) => String(+tick.toPrecision(4))) },
    ],
    series: [{}, { stroke: good, width: 2, ...(uPlot.paths.stepped === undefined ? {} : { paths: uPlot.paths.stepped({ align: 1 }) }), spanGaps: true, points: { show: false } }, marks(busy, busy, 6), marks(text, background, 6), marks(good, good, 10)],
  };
}

/** A score between 0 and 1 is shown as such; if all lie close together, only where they lie. */
function scoreRange({ points, unitRange }: CostChart): [number, number] {
  const ys = points.map(({ y }) => y);
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  if (unitRange) return [Math.max(0, Math.floor((low - 0.1) * 10) / 10), Math.min(1, Math.ceil((high + 0.05) * 10) / 10)];
  return axisRange(low, high, false);
}

function nearestPoint(plot: uPlot, { points }: CostChart, event: MouseEvent): string | undefined {
  const box = plot.over.getBoundingClientRect();
  const distance = ({ x, y }: { x: number; y: number }): number => Math.hypot(plot.valToPos(x, 'x') - (event.clientX - box.left), plot.valToPos(y, 'y') - (event.clientY - box.top));
  return [...points].sort((a, b) => distance(a) - distance(b))[0]?.candidate_id;
}

/** The chart in words, for those who do not see it. */
function description({ points, line, unit }: CostChart): string {
  const [first, last] = [line[0], line.at(-1)];
  if (first === undefined || last === undefined) return t('Validation score by cost: nothing scored yet');
  return t('Best validation score by {0}: {1} after {2}, {3} after {4}; {5} candidates scored', unit, first.y.toFixed(3), Math.round(first.x), last.y.toFixed(3), Math.round(last.x), points.length);
}
