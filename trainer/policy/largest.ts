/** Of logits [V] the ids of the `count` largest, largest first; ties go to the lower id. One pass while `count` is small, a sort of numbers otherwise. */
export function largest(logits: Float32Array, count: number): number[] {
  const keys = count * 8 < logits.length ? heap(logits, count) : all(logits);
  keys.sort();
  return Array.from(keys.subarray(Math.max(0, keys.length - count)), (key) => ids - 1 - (key % ids)).reverse();
}

const ids = 2 ** 20; // more than any vocabulary has tokens

/** A number that orders by logit, then against the id; exact in float64. */
function keyOf(order: number, id: number): number { return order * ids + (ids - 1 - id); }

/** The bits of floats as unsigned integers in the floats' order. */
function orders(logits: Float32Array): (i: number) => number {
  const bits = new Int32Array(logits.buffer, logits.byteOffset, logits.length);
  return (i) => {
    const b = bits[i] as number;
    return b === -(2 ** 31) ? 2 ** 31 : b < 0 ? 2 ** 31 - 1 - (b & 0x7fffffff) + 1 : 2 ** 31 + b; // -0 is 0
  };
}

function all(logits: Float32Array): Float64Array {
  const order = orders(logits);
  return Float64Array.from({ length: logits.length }, (_, i) => keyOf(order(i), i));
}

/** A heap whose root is the smallest of the largest so far. */
function heap(logits: Float32Array, count: number): Float64Array {
  const order = orders(logits);
  const keys = Float64Array.from({ length: count }, (_, i) => keyOf(order(i), i)).sort();
  let least = idOf(keys[0] as number);
  for (let i = count; i < logits.length; i++) {
    if (!((logits[i] as number) > (logits[least] as number))) continue;
    const key = keyOf(order(i), i);
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= count) break;
      if (child + 1 < count && (keys[child + 1] as number) < (keys[child] as number)) child += 1;
      if ((keys[child] as number) >= key) break;
      keys[at] = keys[child] as number;
      at = child;
    }
    keys[at] = key;
    least = idOf(keys[0] as number);
  }
  return keys;
}

function idOf(key: number): number { return ids - 1 - (key % ids); }
