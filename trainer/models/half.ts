/** Conversions between float32 and the 16-bit float formats of weight files. */
import { TrainerError } from '../protocol/errors.ts';

export function bfloat16ToFloat32(halves: Uint16Array, out: Float32Array = new Float32Array(halves.length)): Float32Array {
  const bits = new Uint32Array(out.buffer, out.byteOffset, out.length);
  for (let i = 0; i < halves.length; i++) bits[i] = (halves[i] as number) << 16;
  return out;
}

/** Rounds to nearest, ties to even. */
export function float32ToBfloat16(values: Float32Array): Uint16Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  return Uint16Array.from(bits, (b) => ((b & 0x7fffffff) > 0x7f800000 ? (b >>> 16) | 0x40 : (b + 0x7fff + ((b >>> 16) & 1)) >>> 16));
}

export function float16ToFloat32(halves: Uint16Array, out: Float32Array = new Float32Array(halves.length)): Float32Array {
  const values = halfValues();
  for (let i = 0; i < halves.length; i++) out[i] = values[halves[i] as number] as number;
  return out;
}

let table: Float32Array | undefined;

/** The value of each of the 65536 halves. */
export function halfValues(): Float32Array { return (table ??= Float32Array.from({ length: 65536 }, (_, h) => fromHalf(h))); }

function fromHalf(h: number): number {
  const sign = h & 0x8000 ? -1 : 1;
  const exponent = (h >> 10) & 0x1f;
  const fraction = h & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Rounds to nearest, ties to even; values beyond 65504 become infinite. */
export function float32ToFloat16(values: Float32Array): Uint16Array {
  return Uint16Array.from(values, toHalf);
}

/** Throws TrainerError `bad_input` for weights that would become infinite. `model` is what errors name. */
export function requireFloat16(model: string, tensor: string, values: Float32Array): void {
  const beyond = values.find((value) => Math.abs(value) >= 65520);
  if (beyond !== undefined) throw new TrainerError('bad_input', `${model}: tensor "${tensor}" holds ${beyond}, and float16 ends at 65504. Use another type, float32 (f32) at the safest.`);
}

function toHalf(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (Number.isNaN(value)) return 0x7e00;
  if (magnitude >= 65520) return sign | 0x7c00;
  const exponent = magnitude < 2 ** -14 ? -14 : Math.floor(Math.log2(magnitude));
  // log2 may round up just below a power of two; the carry into the exponent field below makes both cases right.
  const units = roundHalfEven(magnitude / 2 ** (exponent - 10));
  return sign | (exponent === -14 && magnitude < 2 ** -14 ? units : ((exponent + 14) << 10) + units);
}

function roundHalfEven(x: number): number {
  const floor = Math.floor(x);
  const rest = x - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
}
