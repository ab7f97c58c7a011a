/**
 * Text in the user's language. A program that shows text says once which bundle it speaks, before it shows any; without one, a
 * message is its English text.
 */
export type Bundle = Readonly<Record<string, string>>;

let bundle: Bundle = {};

export function useBundle(given: Bundle): void {
  bundle = given;
}

/** A message with its {0}, {1} … filled in. The message is a literal, so that it can be extracted. */
export function t(message: string, ...values: (string | number)[]): string {
  return (bundle[message] ?? message).replace(/\{(\d+)\}/g, (hole, index: string) => String(values[Number(index)] ?? hole));
}

/** The message for one or for many, with the count as its {0}. */
export function plural(count: number, one: string, many: string): string {
  return (bundle[count === 1 ? one : many] ?? (count === 1 ? one : many)).replace('{0}', count.toLocaleString('en-US'));
}
