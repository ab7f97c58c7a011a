/** A replacement of a part of a text, in UTF-16 units. */
export interface TextEdit { from: number; to: number; insert: string }

/** A text with all of these replacements, which are of places in the text as it was and do not overlap. */
export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  return [...edits].sort((a, b) => b.from - a.from).reduce((after, { from, to, insert }) => after.slice(0, from) + insert + after.slice(to), text);
}
