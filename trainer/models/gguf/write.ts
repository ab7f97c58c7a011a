import { open } from 'node:fs/promises';
import { blockFormats, encodeBlocks, type BlockFormat, type WrittenFormat } from './blocks.ts';
import { formatNames, valueTypes, type ValueType } from './types.ts';

/** A metadata value with the type it is written as. */
export type TypedValue =
  | { type: 'uint32' | 'int32' | 'float32'; value: number }
  | { type: 'bool'; value: boolean }
  | { type: 'string'; value: string }
  | { type: 'array'; of: 'int32' | 'float32'; value: readonly number[] }
  | { type: 'array'; of: 'bool'; value: readonly boolean[] }
  | { type: 'array'; of: 'string'; value: readonly string[] };

export const uint32 = (value: number): TypedValue => ({ type: 'uint32', value });
export const float32 = (value: number): TypedValue => ({ type: 'float32', value });
export const bool = (value: boolean): TypedValue => ({ type: 'bool', value });
export const string = (value: string): TypedValue => ({ type: 'string', value });
export const strings = (value: readonly string[]): TypedValue => ({ type: 'array', of: 'string', value });
export const int32s = (value: readonly number[]): TypedValue => ({ type: 'array', of: 'int32', value });
export const float32s = (value: readonly number[]): TypedValue => ({ type: 'array', of: 'float32', value });
export const bools = (value: readonly boolean[]): TypedValue => ({ type: 'array', of: 'bool', value });

/** A tensor to write, its rows first; `values` is called when it is its turn. */
export interface TensorToWrite { name: string; shape: readonly number[]; format: WrittenFormat; values: () => Float32Array }

const alignment = 32;

/** Writes a GGUF file of version 3. */
export async function writeGguf(file: string, metadata: ReadonlyMap<string, TypedValue>, tensors: readonly TensorToWrite[]): Promise<void> {
  const infos: Buffer[] = [];
  let offset = 0;
  for (const { name, shape, format } of tensors) {
    infos.push(text(name), u32(shape.length), ...[...shape].reverse().map(u64), u32(formatNumber(format)), u64(offset));
    offset += padded(byteLength(shape, format));
  }
  const header = Buffer.concat([
    Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(metadata.size), ...[...metadata].flatMap(([key, value]) => [text(key), ...typed(value)]), ...infos,
  ]);
  const handle = await open(file, 'w');
  try {
    // `write` may write a part alone, as where the disk becomes full, and takes at most 2 GiB.
    await handle.writeFile(pad(header));
    for (const { format, values } of tensors) await handle.writeFile(pad(encodeBlocks(format, values())));
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function byteLength(shape: readonly number[], format: WrittenFormat): number {
  const { values, bytes } = blockFormats[format] as BlockFormat;
  return shape.reduce((product, dim) => product * dim, 1) / values * bytes;
}

function formatNumber(format: WrittenFormat): number { return Number(Object.keys(formatNames).find((number) => formatNames[Number(number)] === format)); }

function typed(value: TypedValue): Buffer[] {
  if (value.type !== 'array') return [typeNumber(value.type), scalar(value.type, value.value)];
  return [typeNumber('array'), typeNumber(value.of), u64(value.value.length), ...value.value.map((item) => scalar(value.of, item))];
}

function scalar(type: Exclude<TypedValue['type'], 'array'>, value: number | boolean | string): Buffer {
  if (type === 'string') return text(String(value));
  if (type === 'bool') return Buffer.of(value === true ? 1 : 0);
  const bytes = Buffer.alloc(4);
  if (type === 'uint32') bytes.writeUInt32LE(Number(value));
  else if (type === 'int32') bytes.writeInt32LE(Number(value));
  else bytes.writeFloatLE(Number(value));
  return bytes;
}

function typeNumber(type: ValueType): Buffer { return u32(valueTypes.indexOf(type)); }

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function padded(length: number): number { return Math.ceil(length / alignment) * alignment; }
function pad(bytes: Uint8Array): Uint8Array { return bytes.length % alignment === 0 ? bytes : Buffer.concat([bytes], padded(bytes.length)); }
