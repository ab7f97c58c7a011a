import { createHash } from 'node:crypto';

/** JSON text with object keys in code-unit order: equal values have equal text. `value` must come from JSON. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  return `{${Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`;
}

/** What makes two tasks the same: their content without `id`. */
export function contentOf(input: unknown): string {
  if (input === null || typeof input !== 'object' || Array.isArray(input)) return canonicalJson(input);
  return canonicalJson(Object.fromEntries(Object.entries(input).filter(([key]) => key !== 'id')));
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
