import type { StepMetrics } from '../../protocol/run.ts';

const width = 760;
const height = 270;
const margin = { left: 44, right: 12, top: 12, bottom: 44 };

/** The reward of each step as an SVG picture: points for steps, a line through their moving mean. Works without scripts. */
export function curveSvg(steps: StepMetrics[]): string {
  const points = steps.flatMap((step) => (step.reward_mean === null ? [] : [{ x: step.step + 1, y: step.reward_mean }]));
  const lastStep = Math.max(1, ...steps.map((step) => step.step + 1));
  const low = Math.min(0, ...points.map((point) => point.y));
  const high = Math.max(1, ...points.map((point) => point.y));
  const x = (step: number) => margin.left + ((step - 1) / Math.max(1, lastStep - 1)) * (width - margin.left - margin.right);
  const y = (reward: number) => margin.top + (1 - (reward - low) / (high - low)) * (height - margin.top - margin.bottom);
  const smooth = points.map((point, index) => {
    const window = points.slice(Math.max(0, index - 2), index + 3);
    return { x: point.x, y: window.reduce((sum, item) => sum + item.y, 0) / window.length };
  });
  const gridlines = [0, 0.25, 0.5, 0.75, 1].map((share) => low + share * (high - low)).map((value) =>
    `<line x1="${margin.left}" x2="${width - margin.right}" y1="${y(value)}" y2="${y(value)}" class="grid"/><text x="${margin.left - 6}" y="${y(value) + 4}" text-anchor="end">${value.toFixed(2)}</text>`);
  const dots = points.map((point) => `<circle cx="${x(point.x).toFixed(1)}" cy="${y(point.y).toFixed(1)}" r="3"><title>step ${point.x}: ${point.y.toFixed(3)}</title></circle>`);
  const line = smooth.map((point) => `${x(point.x).toFixed(1)},${y(point.y).toFixed(1)}`).join(' ');
  const ticks = [...new Set([1, Math.round(lastStep / 2), lastStep])].map((step) => `<text x="${x(step)}" y="${height - 24}" text-anchor="middle">${step}</text>`);
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="Mean reward of each training step">${gridlines.join('')}<polyline points="${line}"/>${dots.join('')}${ticks.join('')}<text x="${width / 2}" y="${height - 6}" text-anchor="middle">training step</text></svg>`;
}
