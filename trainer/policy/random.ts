import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { xoroshiro128plusFromState } from 'pure-rand/generator/xoroshiro128plus';

/**
 * Uniform numbers in [0, 1) that depend on the seed alone: one generator per request keeps its tokens independent of the requests beside it.
 * Seeds are whole numbers; nearby seeds give unrelated sequences.
 */
export function uniforms(seed: number): () => number {
  const low = seed | 0;
  const high = Math.floor(seed / 2 ** 32) | 0;
  const rng = xoroshiro128plusFromState([1, 2, 3, 4].map((lane) => mix(mix(low ^ Math.imul(lane, 0x9e3779b1)) ^ high)));
  return () => uniformFloat64(rng);
}

/** MurmurHash3's 32-bit finaliser: every input bit flips every output bit with probability about 1/2. */
function mix(x: number): number {
  let h = x;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
