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
