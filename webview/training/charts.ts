import { t } from '../../trainer/protocol/l10n.ts';
import type { ChartsView } from '../../trainer/protocol/views.ts';
import { h, part, setText } from '../shared/dom.ts';
import { svg } from '../shared/svg.ts';
import { chartView } from './chart.ts';
import type { ChartView } from './chart.ts';
import { lineColor, lineDash } from '../shared/palette.ts';

interface Actions { step: (step: number) => void; compare: () => void; leaveOut: (run_id: string) => void }

/** The charts of the run, with the runs it is compared with in the same ones and named above them. */
export function chartsView(actions: Actions): { element: HTMLElement; update: (view: ChartsView, selected: number | null) => void } {
  const legend = h('ul', { class: 'legend', 'aria-label': t('Runs in the charts') });
  const compare = h('vscode-button', { appearance: 'secondary', click: actions.compare }, t('Compare…'));
  const hint = h('p', { class: 'quiet' }, t('Lines are training rollouts, rings held-out tasks. Click a step to look into it.'));
  const grid = h('div', { class: 'chart-grid' });
  const element = h('section', { 'aria-label': t('Charts') }, h('div', { class: 'section-head' }, h('h2', {}, t('By training step')), compare), legend, grid, hint);
  const charts = new Map<string, ChartView>();
  const drawLegend = part(legend, (runs: ChartsView['runs']) => runs.map((run, index) => h('li', {}, swatch(run.color), h('span', { class: 'run-name' }, run.title), h('span', { class: 'quiet' }, run.note),
    index === 0 ? null : h('button', { type: 'button', class: 'link', click: () => { actions.leaveOut(run.run_id); }, 'aria-label': t('Leave {0} out', run.title) }, t('Leave out')))));
  const redraw = (): void => {
    for (const chart of charts.values()) chart.redraw();
    for (const mark of legend.querySelectorAll<SVGElement>('.swatch line')) mark.setAttribute('stroke', lineColor(Number(mark.dataset['color'])));
  };
  // The theme sets its variables on the root element and its kind as a class of the body.
  const themed = new MutationObserver(redraw);
  themed.observe(document.documentElement, { attributes: true, attributeFilter: ['style'] });
  themed.observe(document.body, { attributes: true, attributeFilter: ['class'] });

  return {
    element,
    update(view, selected) {
      element.hidden = view.runs.length === 0;
      legend.hidden = view.runs.length < 2;
      hint.hidden = selected === null;
      setText(compare, view.runs.length < 2 ? t('Compare…') : t('Change comparison…'));
      drawLegend(view.runs);
      for (const [key, { element: card }] of charts) card.hidden = !view.charts.some((chart) => chart.key === key);
      for (const [index, chart] of view.charts.entries()) {
        const known = charts.get(chart.key) ?? chartView(chart.key, actions.step);
        charts.set(chart.key, known);
        if (grid.children[index] !== known.element) grid.insertBefore(known.element, grid.children[index] ?? null);
        const main = index === 0;
        known.element.hidden = view.steps.length === 0 && !main;
        known.update({ chart, main, steps: view.steps, colors: view.runs.map((run) => run.color), selected: selected === null ? null : selected + 1 });
      }
    },
  };
}

function swatch(color: number): SVGElement {
  return svg('svg', { class: 'swatch', viewBox: '0 0 24 8', width: 24, height: 8, 'aria-hidden': 'true' },
    svg('line', { x1: 0, x2: 24, y1: 4, y2: 4, stroke: lineColor(color), 'stroke-width': 2.5, 'stroke-dasharray': lineDash(color).join(' '), 'data-color': color }));
}
