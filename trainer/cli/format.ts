/** 75.2 → "1m 15s". */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${whole % 60}s`;
  return `${Math.floor(whole / 3600)}h ${Math.floor((whole % 3600) / 60)}m`;
}

/** A number with `digits` decimals; "–" when there is none, which is not zero. */
export function decimal(value: number | null | undefined, digits = 3): string {
  return value === null || value === undefined ? '–' : value.toFixed(digits);
}

/** +0.471, −0.020 */
export function signed(value: number, digits = 3): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(digits)}`;
}

export function pValue(p: number): string {
  return p < 0.0001 ? 'p < 0.0001' : `p = ${p.toFixed(4)}`;
}

const bars = '▁▂▃▄▅▆▇█';

/** Values between 0 and 1 as a row of bars, the last `width` of them. */
export function sparkline(values: number[], width = 20): string {
  return values.slice(-width).map((value) => bars[Math.min(bars.length - 1, Math.max(0, Math.floor(value * bars.length)))]).join('');
}

/** Rows of cells as aligned columns: the first left, the others right. */
export function table(rows: string[][]): string {
  const widths = rows.reduce<number[]>((all, row) => row.map((cell, column) => Math.max(all[column] ?? 0, cell.length)), []);
  return rows.map((row) => row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  ').trimEnd()).join('\n');
}

/** Text of agents and models for a terminal: what would move the cursor, recolour the screen or reverse the line shows as �. Line breaks and tabs stay. */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
}

/** An error's message as one line: without the stack trace that some carry in it. */
export function oneLine(message: string): string {
  return printable(message.replace(/\n\s+at [\s\S]*/, '').replace(/\s+/g, ' ').trim());
}
