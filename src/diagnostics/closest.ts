/** The name most like another: the same but for case and separators, else at most two letters (one in short names) away; null: none is. */
export function closest(name: string, names: readonly string[]): string | null {
  const plain = (text: string): string => [...text.toLowerCase()].filter((letter) => letter !== '_' && letter !== '-').join('');
  const same = names.find((each) => plain(each) === plain(name));
  if (same !== undefined) return same;
  const [best] = names.map((each) => ({ each, steps: distance(name, each) })).sort((a, b) => a.steps - b.steps);
  return best !== undefined && best.steps <= (name.length > 4 ? 2 : 1) ? best.each : null;
}

/** Levenshtein distance. */
function distance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [row, letter] of [...a].entries()) {
    const current = [row + 1];
    for (let column = 1; column <= b.length; column++) {
      current.push(Math.min((current[column - 1] ?? 0) + 1, (previous[column] ?? 0) + 1, (previous[column - 1] ?? 0) + (letter === b[column - 1] ? 0 : 1)));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
