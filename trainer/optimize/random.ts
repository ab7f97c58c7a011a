import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { deriveSeed } from '../algorithms/seeds.ts';

/** A whole number from 0 to below `n`, a function of the seed and the place alone: a search that is repeated decides as it did. */
export function draw(n: number, seed: number, ...place: (number | string)[]): number {
  return uniformInt(xoroshiro128plus(deriveSeed(seed, ...place)), 0, n - 1);
}

/** One of `items` with a chance in proportion to its weight; weights are whole numbers of at least 1. */
export function drawWeighted<Item>(items: readonly { item: Item; weight: number }[], seed: number, ...place: (number | string)[]): Item {
  const total = items.reduce((sum, { weight }) => sum + weight, 0);
  let at = draw(total, seed, ...place);
  for (const { item, weight } of items) {
    if (at < weight) return item;
    at -= weight;
  }
  throw new Error('Nothing to draw from');
}
