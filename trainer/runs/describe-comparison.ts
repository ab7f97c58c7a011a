import type { Comparison } from '../evaluation/compare.ts';

/** A comparison in one line: verdict, difference, tasks won and lost, tasks left out. */
export function describeComparison(comparison: Comparison): string {
  const { difference, verdict, won, lost, tied, excluded } = comparison;
  if (!difference || !verdict) return 'Fewer than two tasks were scored on both sides: no comparison.';
  const [low, high] = difference.ci95.map((bound) => bound.toFixed(3));
  const word = verdict.word === 'no difference shown' && verdict.smallest_effect > 0 ? `no difference shown (one of ${verdict.smallest_effect.toFixed(3)} or more would probably have been)` : verdict.word;
  const left = excluded.length === 0 ? '' : `; ${excluded.length} task(s) without a score on a side left out`;
  return `Verdict: ${word}. Difference ${difference.mean.toFixed(3)}, 95 % interval ${low} to ${high}; ${won} task(s) won, ${lost} lost, ${tied} equal${left}.`;
}
