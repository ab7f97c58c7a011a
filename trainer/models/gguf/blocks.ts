import { float16ToFloat32, bfloat16ToFloat32, float32ToBfloat16, float32ToFloat16, halfValues } from '../half.ts';

/** How a GGUF file stores the values of a tensor: in blocks of `values` numbers that take `bytes` bytes. */
export interface BlockFormat {
  readonly values: number;
  readonly bytes: number;
  /** Whole blocks to float32. */
  decode(raw: Uint8Array, out: Float32Array): void;
}

/** Formats that can be read, by ggml's name. The layouts are those of ggml-common.h. */
export const blockFormats: Readonly<Record<string, BlockFormat>> = {
  F32: { values: 1, bytes: 4, decode: (raw, out) => out.set(new Float32Array(aligned(raw), 0, out.length)) },
  F16: { values: 1, bytes: 2, decode: (raw, out) => void float16ToFloat32(new Uint16Array(aligned(raw), 0, out.length), out) },
  BF16: { values: 1, bytes: 2, decode: (raw, out) => void bfloat16ToFloat32(new Uint16Array(aligned(raw), 0, out.length), out) },
  Q4_0: small(18, (b, at, out, to) => nibbles(b, at + 2, out, to, half(b, at), -8 * half(b, at))),
  Q4_1: small(20, (b, at, out, to) => nibbles(b, at + 4, out, to, half(b, at), half(b, at + 2))),
  Q5_0: small(22, (b, at, out, to) => nibbles(b, at + 6, out, to, half(b, at), -16 * half(b, at), word(b, at + 2))),
  Q5_1: small(24, (b, at, out, to) => nibbles(b, at + 8, out, to, half(b, at), half(b, at + 2), word(b, at + 4))),
  Q8_0: small(34, (b, at, out, to) => {
    const scale = half(b, at);
    for (let i = 0; i < 32; i++) out[to + i] = scale * signed(b, at + 2 + i);
  }),
  Q4_K: large(144, (b, at, out, to) => superBlock(b, at, out, to, at + 16, null)),
  Q5_K: large(176, (b, at, out, to) => superBlock(b, at, out, to, at + 48, at + 16)),
  Q6_K: large(210, sixBits),
};

/** Formats that can be written. */
export type WrittenFormat = 'F32' | 'F16' | 'BF16' | 'Q8_0';

/** float32 to whole blocks; the values must be a multiple of the block's number. */
export function encodeBlocks(format: WrittenFormat, values: Float32Array): Uint8Array {
  switch (format) {
    case 'F32': return bytesOf(values);
    case 'F16': return bytesOf(float32ToFloat16(values));
    case 'BF16': return bytesOf(float32ToBfloat16(values));
    case 'Q8_0': return encodeQ8(values);
  }
}

/** Blocks of 32: a half-precision scale, max |x| / 127, and 32 signed bytes. */
function encodeQ8(values: Float32Array): Uint8Array {
  const blocks = values.length / 32;
  const raw = new Uint8Array(blocks * 34);
  for (let block = 0; block < blocks; block++) {
    const part = values.subarray(block * 32, block * 32 + 32);
    const scale = Math.fround(part.reduce((most, x) => Math.max(most, Math.abs(x)), 0) / 127);
    const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
    const [stored = 0] = float32ToFloat16(Float32Array.of(scale));
    raw[block * 34] = stored & 0xff;
    raw[block * 34 + 1] = stored >> 8;
    part.forEach((x, i) => {
      const scaled = Math.fround(x * inverse);
      raw[block * 34 + 2 + i] = Math.sign(scaled) * Math.round(Math.abs(scaled)); // halves away from zero
    });
  }
  return raw;
}

type DecodeBlock = (raw: Uint8Array, at: number, out: Float32Array, to: number) => void;
function small(bytes: number, decodeBlock: DecodeBlock): BlockFormat { return format(32, bytes, decodeBlock); }
function large(bytes: number, decodeBlock: DecodeBlock): BlockFormat { return format(256, bytes, decodeBlock); }

function format(values: number, bytes: number, decodeBlock: DecodeBlock): BlockFormat {
  return {
    values, bytes,
    decode(raw, out) {
      for (let at = 0, to = 0; to < out.length; at += bytes, to += values) decodeBlock(raw, at, out, to);
    },
  };
}

/** 32 numbers of four bits (low halves of 16 bytes first) or, with `fifth` holding the highest bits, five: x = scale · q + offset. */
function nibbles(b: Uint8Array, at: number, out: Float32Array, to: number, scale: number, offset: number, fifth = 0): void {
  for (let i = 0; i < 16; i++) {
    const byte = b[at + i] as number;
    out[to + i] = scale * ((byte & 15) | ((fifth >>> i) & 1) << 4) + offset;
    out[to + i + 16] = scale * ((byte >> 4) | ((fifth >>> (i + 16)) & 1) << 4) + offset;
  }
}

/** Q4_K and Q5_K: eight groups of 32, each with a scale and a minimum of six bits; two groups share 32 bytes of low bits. */
function superBlock(b: Uint8Array, at: number, out: Float32Array, to: number, low: number, high: number | null): void {
  const [scale, minimum, packed] = [half(b, at), half(b, at + 2), at + 4];
  for (let group = 0; group < 8; group++) {
    const byte = (i: number) => b[packed + i] as number;
    const s = group < 4 ? byte(group) & 63 : (byte(group + 4) & 15) | (byte(group - 4) >> 6) << 4;
    const m = group < 4 ? byte(group + 4) & 63 : (byte(group + 4) >> 4) | (byte(group) >> 6) << 4;
    const [factor, offset, from, shift] = [scale * s, minimum * m, low + (group >> 1) * 32, (group & 1) * 4];
    for (let i = 0; i < 32; i++) {
      const fifth = high === null ? 0 : ((b[high + i] as number) >> group & 1) << 4;
      out[to + group * 32 + i] = factor * (((b[from + i] as number) >> shift & 15) | fifth) - offset;
    }
  }
}

/** Q6_K: two halves of 128; low four bits in 64 bytes, high two in 32, a signed scale for each 16 numbers. */
function sixBits(b: Uint8Array, at: number, out: Float32Array, to: number): void {
  const scale = half(b, at + 208);
  for (let part = 0; part < 2; part++) {
    const [low, high, scales] = [at + part * 64, at + 128 + part * 32, at + 192 + part * 8];
    for (let quarter = 0; quarter < 4; quarter++) {
      for (let i = 0; i < 32; i++) {
        const four = (b[low + i + (quarter & 1) * 32] as number) >> (quarter >> 1) * 4 & 15;
        const two = (b[high + i] as number) >> quarter * 2 & 3;
        out[to + part * 128 + quarter * 32 + i] = scale * signed(b, scales + quarter * 2 + (i >> 4)) * ((four | two << 4) - 32);
      }
    }
  }
}

function half(b: Uint8Array, at: number): number { return halfValues()[(b[at] as number) | (b[at + 1] as number) << 8] as number; }
function word(b: Uint8Array, at: number): number { return (b[at] as number) | (b[at + 1] as number) << 8 | (b[at + 2] as number) << 16 | (b[at + 3] as number) << 24; }
function signed(b: Uint8Array, at: number): number { return (b[at] as number) << 24 >> 24; }

/** A buffer that starts with these bytes, for views of wider elements. */
function aligned(raw: Uint8Array): ArrayBuffer { return raw.byteOffset === 0 && raw.buffer instanceof ArrayBuffer ? raw.buffer : raw.slice().buffer; }
function bytesOf(data: Float32Array | Uint16Array): Uint8Array { return new Uint8Array(data.buffer, data.byteOffset, data.byteLength); }
