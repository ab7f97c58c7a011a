/** One replacement in a text: the characters from `from` up to `to` become `insert`. Offsets count UTF-16 units of the text before any edit. */
export interface Edit { from: number; to: number; insert: string }

export const insertion = (at: number, insert: string): Edit => ({ from: at, to: at, insert });

/** Edits in order of place. Insertions at the same offset keep the order they were given in. */
export function sorted(edits: readonly Edit[]): Edit[] {
  return edits.map((edit, index) => ({ edit, index })).sort((a, b) => a.edit.from - b.edit.from || a.edit.to - b.edit.to || a.index - b.index).map(({ edit }) => edit);
}

/** The text after all edits, which must not overlap. @throws RangeError when two do */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  let result = '';
  let at = 0;
  for (const edit of sorted(edits)) {
    if (edit.from < at) throw new RangeError(`two edits overlap at offset ${edit.from}`);
    result += text.slice(at, edit.from) + edit.insert;
    at = edit.to;
  }
  return result + text.slice(at);
}

/** The fewest characters that turn one text into the other, as one edit; null when they are the same. */
export function difference(before: string, after: string): Edit | null {
  if (before === after) return null;
  const limit = Math.min(before.length, after.length);
  let from = 0;
  while (from < limit && before[from] === after[from]) from++;
  let same = 0;
  while (same < limit - from && before[before.length - 1 - same] === after[after.length - 1 - same]) same++;
  return { from, to: before.length - same, insert: after.slice(from, after.length - same) };
}
