import { t } from '../../trainer/protocol/l10n.ts';
import { significant } from '../../trainer/protocol/significant.ts';

/** Numbers as people read them. Every unit is in the text or in the column's head. */

export const nothing = '–';

export function number(value: number | null, digits: number): string {
  return value === null ? nothing : value.toFixed(digits);
}

/** Three significant digits, without an exponent unless it is tiny. */
export function compact(value: number | null): string {
  if (value === null) return nothing;
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size < 1e-3) return value.toExponential(1);
  if (size >= 100) return Math.round(value).toLocaleString('en-US');
  return significant(value, 3);
}

export function percent(value: number | null): string {
  return value === null ? nothing : `${(value * 100).toFixed(1)} %`;
}

/** 42 s · 3 min 05 s · 2 h 07 min */
export function duration(seconds: number | null): string {
  if (seconds === null) return nothing;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`;
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, '0')} min`;
}

/** <1 ms · 7 ms · 1.24 s, for spans. */
export function shortDuration(seconds: number): string {
  if (seconds < 0.0005) return '<1 ms'; // less than the clocks of some agents tell
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : seconds < 60 ? `${seconds.toFixed(2)} s` : duration(seconds);
}

/** A minus sign of the width of a plus sign, and always one of the two. */
export function signed(value: number, digits: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(digits)}`;
}

/** Cut with a note of what is missing, so that one huge answer does not stall a page. */
export function clip(text: string, limit = 20_000): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}\n… ${t('{0} more characters', (text.length - limit).toLocaleString('en-US'))}`;
}

export function oneLine(text: string, limit = 120): string {
  if (text.length <= limit && !/^\s|\s\s|[\n\r\t\v\f]|\s$/.test(text)) return text;
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= limit ? line : `${line.slice(0, limit - 1)}…`;
}
