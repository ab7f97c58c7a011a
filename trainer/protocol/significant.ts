/** A number of so many significant digits, written out: 0.0035, 1.3, 340, 3330; an exponent only beyond 1e21 and below 1e-6. */
export function significant(value: number, digits: number): string { return String(Number(value.toPrecision(digits))); }
