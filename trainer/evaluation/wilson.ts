const z95 = 1.959963984540054;

/** Wilson 95 % interval of a success rate: `successes` of `n` > 0. */
export function wilsonInterval(successes: number, n: number): [number, number] {
  const rate = successes / n;
  const z2 = z95 ** 2;
  const center = (rate + z2 / (2 * n)) / (1 + z2 / n);
  const half = (z95 / (1 + z2 / n)) * Math.sqrt((rate * (1 - rate)) / n + z2 / (4 * n * n));
  return [center - half, center + half];
}
