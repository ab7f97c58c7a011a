/** Colour and dash of each run: either alone tells two of them apart. */
const lines: { color: string; otherwise: string; dash: number[] }[] = [
  { color: '--vscode-charts-blue', otherwise: 'steelblue', dash: [] },
  { color: '--vscode-charts-orange', otherwise: 'darkorange', dash: [8, 4] },
  { color: '--vscode-charts-green', otherwise: 'seagreen', dash: [2, 3] },
  { color: '--vscode-charts-purple', otherwise: 'rebeccapurple', dash: [10, 3, 2, 3] },
  { color: '--vscode-charts-red', otherwise: 'firebrick', dash: [5, 2] },
  { color: '--vscode-charts-yellow', otherwise: 'goldenrod', dash: [1, 4] },
];

/** A colour of the theme as it is now. */
export function themeColor(name: string, otherwise: string): string {
  return getComputedStyle(document.body).getPropertyValue(name).trim() || otherwise;
}

const lineOf = (index: number) => lines[index % lines.length] ?? { color: '', otherwise: 'gray', dash: [] };

export function lineColor(index: number): string {
  const { color, otherwise } = lineOf(index);
  return themeColor(color, otherwise);
}

export function lineDash(index: number): number[] {
  return lineOf(index).dash;
}
