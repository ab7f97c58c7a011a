import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { mean, quantileSorted } from 'simple-statistics';

/** Resamples of the bootstrap; enough for two stable digits of a 95 % bound. */
export const bootstrapSamples = 10_000;

/**
 * 95 % percentile interval of the mean of paired differences: tasks are resampled with replacement.
 * `differences`: one per task, at least one.
 */
export function bootstrapInterval(differences: readonly number[], seed = 0, samples = bootstrapSamples): [number, number] {
  const random = xoroshiro128plus(seed);
  const n = differences.length;
  const means = new Float64Array(samples);
  for (let sample = 0; sample < samples; sample++) {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += differences[uniformInt(random, 0, n - 1)] ?? 0;
    means[sample] = sum / n;
  }
  const sorted = Array.from(means.sort());
  return [quantileSorted(sorted, 0.025), quantileSorted(sorted, 0.975)];
}

/** Standard error of the mean: sd (n - 1) / sqrt(n). 0 for fewer than two values. */
export function standardError(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const center = mean([...values]);
  const squares = values.reduce((sum, value) => sum + (value - center) ** 2, 0);
  return Math.sqrt(squares / (values.length - 1) / values.length);
}
