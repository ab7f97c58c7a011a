/**
 * Seed of one LLM call, from its rollout's seed and its ordinal in the attempt: unsigned 32 bits.
 * Multiply-xorshift mixing, so that neighbouring seeds and ordinals give unrelated streams.
 */
export function callSeed(rolloutSeed: number, callIndex: number): number {
  let hash = 0x2545f491;
  for (const word of [rolloutSeed, Math.floor(rolloutSeed / 2 ** 32), callIndex]) {
    hash = mix(Math.imul(hash ^ (word >>> 0), 0x9e3779b1));
  }
  return hash;
}

function mix(value: number): number {
  let x = value >>> 0;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}
