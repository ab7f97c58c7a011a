/**
 * Exact two-sided McNemar test for paired 0/1 outcomes: `worse` tasks lost and `better` tasks won of all that changed.
 * p = 2 * sum_{i <= min(b, c)} C(b + c, i) / 2^(b + c), at most 1.
 */
export function mcnemarExact(worse: number, better: number): number {
  const changed = worse + better;
  if (changed === 0) return 1;
  let logTerm = -changed * Math.LN2; // log of C(n, 0) / 2^n; logs, because 2^-n underflows at n > 1074
  let tail = 0;
  for (let i = 0; i <= Math.min(worse, better); i++) {
    tail += Math.exp(logTerm);
    logTerm += Math.log(changed - i) - Math.log(i + 1);
  }
  return Math.min(1, 2 * tail);
}
