import uPlot from 'uplot';
import type { TrainingView } from '../../trainer/protocol/views.ts';
import { h, setText } from '../shared/dom.ts';

type Curve = TrainingView['curve'];

/** The reward curve: mean training reward as a line, held-out rewards as rings. Colours come from the theme and follow it. */
export function curveView(): { element: HTMLElement; update: (curve: Curve) => void } {
  const chart = h('div', { class: 'chart' });
  const empty = h('p', { class: 'chart-empty' }, 'The curve begins with the first training step.');
  const reward = h('span', { class: 'key reward' });
  const validation = h('span', { class: 'key validation' });
  const element = h('figure', { class: 'curve', 'aria-label': 'Reward by training step' },
    h('figcaption', { class: 'chart-head' }, h('h2', {}, 'Reward by training step'), reward, validation), chart);
  chart.append(empty);
  let plot: uPlot | null = null;
  let data: uPlot.AlignedData = [[], [], []];
  let curve: Curve = { step: [], reward: [], validation: [] };

  const keys = (index: number | null): void => {
    const at = index ?? curve.step.length - 1;
    const where = index === null ? '' : `, step ${curve.step[at] ?? ''}`;
    setText(reward, `Training${where}: ${valueText(index === null ? lastOf(curve.reward) : curve.reward[at])}`);
    setText(validation, `Held-out${where}: ${valueText(index === null ? lastOf(curve.validation) : curve.validation[at])}`);
  };
  const draw = (): void => {
    plot?.destroy();
    plot = new uPlot(options(chart.clientWidth, chart.clientHeight, keys), data, chart);
  };
  new ResizeObserver(() => { plot?.setSize({ width: chart.clientWidth, height: chart.clientHeight }); }).observe(chart);
  // The theme sets its variables on the root element and its kind as a class of the body.
  const themed = new MutationObserver(() => { if (plot !== null) draw(); });
  themed.observe(document.documentElement, { attributes: true, attributeFilter: ['style'] });
  themed.observe(document.body, { attributes: true, attributeFilter: ['class'] });

  return {
    element,
    update(next) {
      curve = next;
      data = [next.step, next.reward, next.validation];
      const points = next.reward.filter((value) => value !== null).length;
      element.dataset['points'] = String(points);
      element.setAttribute('aria-label', description(next));
      empty.hidden = next.step.length > 0;
      validation.hidden = next.validation.every((value) => value === null);
      reward.hidden = points === 0;
      keys(null);
      if (next.step.length === 0) {
        plot?.destroy();
        plot = null;
      } else if (plot === null) draw();
      else plot.setData(data);
    },
  };
}

function options(width: number, height: number, onHover: (index: number | null) => void): uPlot.Options {
  const color = (name: string, otherwise: string): string => getComputedStyle(document.body).getPropertyValue(name).trim() || otherwise;
  const text = color('--vscode-descriptionForeground', 'gray');
  const grid = { stroke: `color-mix(in srgb, ${text} 22%, transparent)`, width: 1 };
  const font = `11px ${getComputedStyle(document.body).fontFamily}`;
  const line = color('--vscode-charts-blue', 'steelblue');
  const ring = color('--vscode-charts-yellow', 'goldenrod');
  const background = color('--vscode-editor-background', 'transparent');
  return {
    width,
    height,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { size: 7 } },
    scales: { x: { time: false, range: (_plot, min, max) => (max - min < 1 ? [min - 0.5, max + 0.5] : [min, max]) }, y: { range: (_plot, min, max) => roundRange(min, max) } },
    axes: [
      { stroke: text, grid: { show: false }, ticks: { show: false }, font, size: 28, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000], values: (_plot, values) => values.map((value) => (Number.isInteger(value) ? String(value) : '')) },
      { stroke: text, grid, ticks: { show: false }, font, size: 44 },
    ],
    series: [
      {},
      { label: 'Training', stroke: line, width: 2, spanGaps: true, points: { show: true, size: 6, stroke: line, fill: line } },
      { label: 'Held-out', stroke: ring, width: 0, paths: () => null, points: { show: true, size: 9, stroke: ring, fill: background, width: 2 } },
    ],
    hooks: { setCursor: [(plot) => { onHover(plot.cursor.idx ?? null); }] },
  };
}

/** From 0 to 1 for rewards that lie there, as most do; else a little wider than the values. */
function roundRange(min: number | null, max: number | null): [number, number] {
  if (min === null || max === null || (min >= 0 && max <= 1)) return [0, 1];
  const margin = Math.max(max - min, Math.abs(max) * 0.1, 1e-6) * 0.1;
  return [min - margin, max + margin];
}

const valueText = (value: number | null | undefined): string => (value === null || value === undefined ? '–' : value.toFixed(3));

function lastOf(values: (number | null)[]): number | null {
  return values.findLast((value) => value !== null) ?? null;
}

/** The curve in words, for those who do not see it. */
function description({ step, reward }: Curve): string {
  const points = step.map((at, index) => [at, reward[index]] as const).filter(([, value]) => typeof value === 'number');
  const first = points[0];
  const last = points.at(-1);
  if (first === undefined || last === undefined) return 'Reward by training step: no step yet';
  return `Reward by training step: ${valueText(first[1])} at step ${first[0]}, ${valueText(last[1])} at step ${last[0]}`;
}
