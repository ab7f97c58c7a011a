const limit = 32_768; // characters

/** Valid JSON for any value, bounded. Too long: a JSON string with the beginning of the text. */
export function jsonText(value: unknown): string {
  const text = stringify(value);
  return text.length > limit ? JSON.stringify(`${text.slice(0, limit)}… (${text.length} characters)`) : text;
}

function stringify(value: unknown): string {
  const open: unknown[] = [];
  try {
    return JSON.stringify(value, function replace(this: unknown, _key, item: unknown) {
      if (typeof item === 'bigint' || (typeof item === 'number' && !Number.isFinite(item))) return String(item);
      if (typeof item === 'function') return `[function ${item.name}]`;
      if (item instanceof Error) return `${item.name}: ${item.message}`;
      if (typeof item !== 'object' || item === null) return item;
      // `this` is the object that holds the item: what lies above it on the stack has been left.
      while (open.length > 0 && open.at(-1) !== this) open.pop();
      if (open.includes(item)) return '[circular]';
      open.push(item);
      return item;
    }) ?? 'null';
  } catch (error) {
    return JSON.stringify(`[${error instanceof Error ? error.message : 'not representable'}]`); // a throwing toJSON or getter
  }
}

/** Whether the value comes back the same from its (bounded) JSON text: nothing but plain objects, arrays, strings, finite numbers, booleans and null. */
export function isPlain(value: unknown): boolean {
  const pending: [value: unknown, depth: number][] = [[value, 0]];
  let visited = 0;
  for (let next = pending.pop(); next; next = pending.pop()) {
    const [item, depth] = next;
    if (++visited > limit || depth > 100) return false; // as good as unbounded: a cycle, or longer than the text
    if (item === null || typeof item === 'string' || typeof item === 'boolean') continue;
    if (typeof item === 'number') {
      if (!Number.isFinite(item) || Object.is(item, -0)) return false;
      continue;
    }
    if (typeof item !== 'object') return false;
    const prototype: unknown = Object.getPrototypeOf(item);
    if (!Array.isArray(item) && prototype !== Object.prototype && prototype !== null) return false;
    for (const inner of Object.values(item)) pending.push([inner, depth + 1]);
  }
  return stringify(value).length <= limit;
}
