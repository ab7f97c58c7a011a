/** The merges that build every token that may be built out of two others, the highest score first. */
export function mergesOfScores(tokens: readonly string[], isBuilt: (id: number) => boolean, scores: readonly number[]): [string, string][] {
  const built = tokens.map((token, id) => ({ token, score: scores[id] as number })).filter((_, id) => isBuilt(id));
  const known = new Set(built.map(({ token }) => token));
  const byScore = built.sort((a, b) => b.score - a.score); // stable: equal scores stay in the order of their ids
  const merges: [string, string][] = [];
  for (const { token } of byScore) {
    for (let end = 1; end < token.length; end++) {
      const left = token.slice(0, end); // one that ends within a character is no token
      if (!known.has(left)) continue;
      const right = token.slice(end);
      if (known.has(right)) merges.push([left, right]);
    }
  }
  return merges;
}

/** Scores for a list of merges: a token made by an earlier merge has a higher one. */
export function scoresOfMerges(tokens: readonly string[], merges: readonly (readonly [string, string])[]): number[] {
  const rank = new Map<string, number>();
  merges.forEach(([left, right], i) => { if (!rank.has(left + right)) rank.set(left + right, i); });
  return tokens.map((token) => -(rank.get(token) ?? 0));
}
