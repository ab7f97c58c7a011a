import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

const exactUpTo = 16; // 2^16 sign patterns
const randomFlips = 10_000;

/**
 * Two-sided p-value of "the mean paired difference is 0": under it, each difference is as likely with the other sign.
 * All sign patterns up to 16 non-zero differences, else 10,000 random ones with p = (k + 1) / (B + 1).
 */
export function signFlipTest(differences: readonly number[], seed = 0): number {
  const nonZero = differences.filter((difference) => difference !== 0);
  if (nonZero.length === 0) return 1;
  const observed = Math.abs(nonZero.reduce((sum, difference) => sum + difference, 0));
  const reached = (sum: number) => Math.abs(sum) >= observed - 1e-12 * (1 + observed); // sums in another order differ by rounding
  return nonZero.length <= exactUpTo ? exact(nonZero, reached) : sampled(nonZero, reached, seed);
}

function exact(differences: number[], reached: (sum: number) => boolean): number {
  const patterns = 2 ** differences.length;
  let count = 0;
  for (let pattern = 0; pattern < patterns; pattern++) {
    if (reached(differences.reduce((sum, difference, i) => sum + ((pattern >> i) & 1 ? -difference : difference), 0))) count += 1;
  }
  return count / patterns;
}

function sampled(differences: number[], reached: (sum: number) => boolean, seed: number): number {
  const random = xoroshiro128plus(seed);
  let count = 0;
  for (let flip = 0; flip < randomFlips; flip++) {
    let sum = 0;
    let bits = 0;
    for (let i = 0; i < differences.length; i++) {
      if (i % 24 === 0) bits = uniformInt(random, 0, 2 ** 24 - 1);
      sum += (bits >> (i % 24)) & 1 ? -(differences[i] ?? 0) : (differences[i] ?? 0);
    }
    if (reached(sum)) count += 1;
  }
  return (count + 1) / (randomFlips + 1);
}
