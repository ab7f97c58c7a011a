/**
 * A seed derived from parts such as (run seed, step, task, sample): 31 bits, the same on every machine.
 * Random state is never carried from step to step, so a resumed run needs none.
 */
export function deriveSeed(...parts: (number | string)[]): number {
  let hash = 0x811c9dc5;
  for (const character of JSON.stringify(parts)) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193); // FNV-1a
  hash ^= hash >>> 16; // FNV's low bits mix poorly: finish as MurmurHash3 does
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 1;
}
