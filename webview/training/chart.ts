import uPlot from 'uplot';
import { t } from '../../trainer/protocol/l10n.ts';
import type { Chart } from '../../trainer/protocol/views.ts';
import { h, setText } from '../shared/dom.ts';
import { axisRange } from '../shared/axis.ts';
import { lineDash, lineColor, themeColor } from '../shared/palette.ts';

/** What a chart is drawn from: its values over the steps, and the step that is looked at. */
export interface ChartData { chart: Chart; steps: number[]; colors: number[]; /** from 1 */ selected: number | null; /** the large one */ main: boolean }

export interface ChartView { element: HTMLElement; update: (data: ChartData) => void; redraw: () => void }

/** All charts of the page show the same step under the pointer. */
const cursors = uPlot.sync('steps');

/** One metric over the steps, a line for each run; a click chooses the step. Colours follow the theme. */
export function chartView(key: string, onStep: (step: number) => void): ChartView {
  const area = h('div', { class: 'chart' });
  const empty = h('p', { class: 'chart-empty' });
  const title = h('h3');
  const unit = h('span', { class: 'unit' });
  const values = h('span', { class: 'values' });
  const element = h('figure', { class: 'chart-card', 'data-chart': key },
    h('figcaption', { class: 'chart-head' }, title, unit, values), area);
  area.append(empty);
  let plot: uPlot | null = null;
  let data: ChartData | null = null;
  let shape = '';

  const tell = (index: number | null): void => {
    if (data === null) return;
    const { chart, steps, colors } = data;
    values.replaceChildren(...chart.series.flatMap((series, run) => {
      const value = index === null ? lastOf(series) : series[index] ?? null;
      const ring = chart.rings[run] === undefined ? null : index === null ? lastOf(chart.rings[run]) : chart.rings[run][index] ?? null;
      const text = [...(value === null ? [] : [numberText(chart, value)]), ...(ring === null ? [] : [t('held-out {0}', numberText(chart, ring))])].join(' · ');
      const mark = h('span', { class: 'value', title: index === null ? t('Latest') : t('Step {0}', steps[index] ?? '') }, text);
      if (colors.length > 1) mark.style.color = lineColor(colors[run] ?? 0);
      return value === null && ring === null ? [] : [mark];
    }));
  };
  const draw = (): void => {
    plot?.destroy();
    plot = null;
    if (data === null || !isMeasured(data) || area.clientWidth === 0) return;
    plot = new uPlot(options(area, data, () => data?.selected ?? null, tell), aligned(data), area);
    cursors.sub(plot);
    plot.over.addEventListener('click', () => {
      const at = plot?.cursor.idx;
      const step = at === null || at === undefined ? undefined : data?.steps[at];
      if (step !== undefined && step > 0) onStep(step - 1);
    });
  };
  new ResizeObserver(() => {
    if (plot === null) draw();
    else plot.setSize({ width: area.clientWidth, height: area.clientHeight });
  }).observe(area);

  return {
    element,
    redraw: () => { if (plot !== null) draw(); },
    update(next) {
      data = next;
      const { chart, colors, steps, main } = next;
      const measured = isMeasured(next);
      element.classList.toggle('curve', main);
      setText(title, chart.title);
      setText(unit, chart.unit);
      title.title = chart.help;
      element.dataset['points'] = String((chart.series[0] ?? []).filter((value) => value !== null).length);
      element.setAttribute('aria-label', description(next));
      empty.hidden = measured;
      setText(empty, steps.length === 0 ? (main ? t('The curve begins with the first training step.') : '') : t('Not measured. {0}.', chart.help));
      tell(null);
      const nextShape = `${colors.join()} ${chart.rings.length}`;
      if (!measured || plot === null || shape !== nextShape) draw();
      else plot.setData(aligned(next));
      shape = nextShape;
    },
  };
}

function isMeasured({ chart }: ChartData): boolean {
  return [...chart.series, ...chart.rings].some((series) => series.some((value) => value !== null));
}

function aligned({ chart, steps }: ChartData): uPlot.AlignedData {
  return [steps, ...chart.series, ...chart.rings];
}

function options(area: HTMLElement, { chart, colors }: ChartData, selected: () => number | null, onHover: (index: number | null) => void): uPlot.Options {
  const text = themeColor('--vscode-descriptionForeground', 'gray');
  const axis = { stroke: text, ticks: { show: false }, font: `11px ${getComputedStyle(document.body).fontFamily}` };
  const grid = { stroke: `color-mix(in srgb, ${text} 22%, transparent)`, width: 1 };
  const background = themeColor('--vscode-editor-background', 'transparent');
  return {
    width: area.clientWidth,
    height: area.clientHeight,
    legend: { show: false },
    padding: [8, 8, 0, 0],
    cursor: { drag: { x: false, y: false }, points: { size: 7 }, sync: { key: cursors.key, setSeries: false } },
    scales: {
      x: { time: false, range: (_plot, min, max) => (max - min < 1 ? [min - 0.5, max + 0.5] : [min, max]) },
      y: { range: (_plot, min, max) => axisRange(min, max, chart.unitRange) },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 24, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000], values: (_plot, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? String(tick) : '')) },
      { ...axis, grid, size: 48, space: 26, values: (_plot, ticks) => ticks.map(tickText) },
    ],
    series: [
      {},
      ...chart.series.map((_series, run) => {
        const line = lineColor(colors[run] ?? 0);
        return { stroke: line, width: 2, dash: lineDash(colors[run] ?? 0), spanGaps: true, points: { show: chart.series.length === 1, size: 5, stroke: line, fill: line } };
      }),
      ...chart.rings.map((_series, run) => ({ stroke: lineColor(colors[run] ?? 0), width: 0, paths: () => null, points: { show: true, size: 9, stroke: lineColor(colors[run] ?? 0), fill: background, width: 2 } })),
    ],
    hooks: {
      setCursor: [(plot) => { onHover(plot.cursor.idx ?? null); }],
      drawClear: [(plot) => { markStep(plot, selected()); }],
    },
  };
}

/** A vertical line at the step that is looked at. */
function markStep(plot: uPlot, step: number | null): void {
  if (step === null) return;
  const { ctx, bbox } = plot;
  const x = Math.round(plot.valToPos(step, 'x', true));
  ctx.save();
  ctx.strokeStyle = themeColor('--vscode-focusBorder', 'gray');
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}

function tickText(value: number): string {
  const size = Math.abs(value);
  if (size >= 10_000) return `${+(value / 1000).toPrecision(3)}k`;
  return size !== 0 && size < 1e-3 ? value.toExponential(0) : String(+value.toPrecision(4));
}

/** Rewards with three decimals, so that they align; else three significant digits. */
function numberText({ unitRange }: Chart, value: number | null): string {
  if (value === null) return '–';
  if (unitRange) return value.toFixed(3);
  const size = Math.abs(value);
  if (size !== 0 && size < 1e-3) return value.toExponential(1);
  return size >= 100 ? Math.round(value).toLocaleString('en-US') : String(+value.toPrecision(3));
}

function lastOf(values: (number | null)[]): number | null {
  return values.findLast((value) => value !== null) ?? null;
}

/** The chart in words, for those who do not see it. */
function description({ chart, steps }: ChartData): string {
  const name = t('{0}, by training step', chart.unit === '' ? chart.title : `${chart.title}, ${chart.unit}`);
  const points = steps.flatMap((step, index) => (typeof chart.series[0]?.[index] === 'number' ? [[step, chart.series[0][index]] as const] : []));
  const [first, last] = [points[0], points.at(-1)];
  return first === undefined || last === undefined ? t('{0}: nothing measured yet', name) : t('{0}: {1} at step {2}, {3} at step {4}', name, numberText(chart, first[1]), first[0], numberText(chart, last[1]), last[0]);
}
