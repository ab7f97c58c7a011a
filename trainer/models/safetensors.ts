import { writeFile, type FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { elementCount } from '../engine/tensor.ts';
import { TrainerError } from '../protocol/errors.ts';
import { openForReading, readAt } from './file-bytes.ts';
import { bfloat16ToFloat32, float16ToFloat32, float32ToBfloat16, float32ToFloat16 } from './half.ts';
import type { WeightFile } from './weight-file.ts';

/** Values are always float32 in memory, whatever the file holds. */
export interface NamedTensor { readonly shape: readonly number[]; readonly data: Float32Array }

const Entry = z.strictObject({
  dtype: z.string(),
  shape: z.array(z.number().int().min(0)),
  data_offsets: z.tuple([z.number().int().min(0), z.number().int().min(0)]),
});
type Entry = z.infer<typeof Entry>;
type Refuse = (problem: string) => TrainerError;

const bytesOf: Record<string, number> = { F32: 4, F16: 2, BF16: 2 };
const maxHeaderBytes = 100_000_000; // the format's own limit
const valuesAtOnce = 2 ** 21;

/**
 * Opens a safetensors file (little-endian; header length u64, JSON header, data).
 * Throws TrainerError `bad_input` naming the file, and the tensor where one is at fault.
 */
export async function openSafetensors(file: string): Promise<WeightFile> {
  const refuse = (problem: string) => new TrainerError('bad_input', `${file} is not a valid safetensors file: ${problem}. Download or write it again.`);
  const handle = await openForReading(file);
  try {
    const { entries, dataStart } = await readHeader(handle, refuse);
    return {
      shapes: new Map([...entries].map(([name, { shape }]) => [name, shape])),
      async read(name, into) {
        const { dtype, data_offsets: [begin] } = entries.get(name) as Entry;
        const width = bytesOf[dtype] as number;
        for (let start = 0; start < into.length; start += valuesAtOnce) {
          const part = into.subarray(start, start + valuesAtOnce);
          decodeValues(dtype, await readAt(handle, dataStart + begin + start * width, part.length * width, refuse), part);
        }
      },
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** All tensors of a safetensors file. Throws as `openSafetensors`. */
export async function readSafetensors(file: string): Promise<Map<string, NamedTensor>> {
  const source = await openSafetensors(file);
  try {
    const tensors = new Map<string, NamedTensor>();
    for (const [name, shape] of source.shapes) {
      const data = new Float32Array(elementCount(shape));
      await source.read(name, data);
      tensors.set(name, { shape, data });
    }
    return tensors;
  } finally {
    await source.close();
  }
}

export type SafetensorsType = 'F32' | 'F16' | 'BF16';

/** A tensor to write: little-endian bytes in parts, asked for when it is its turn. */
export interface TensorBytes { name: string; dtype: SafetensorsType; shape: readonly number[]; parts: () => Iterable<Uint8Array> | AsyncIterable<Uint8Array> }

/** Writes tensors in the order given. The 16-bit types round to nearest even. */
export async function writeSafetensors(file: string, tensors: ReadonlyMap<string, NamedTensor>, dtype: SafetensorsType = 'F32'): Promise<void> {
  await writeTensorBytes(file, [...tensors].map(([name, { shape, data }]) => ({ name, dtype, shape, parts: () => [encodeValues(dtype, data)] })));
}

/** Writes tensors of which no more than one part is in memory at a time. */
export async function writeTensorBytes(file: string, tensors: readonly TensorBytes[]): Promise<void> {
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } };
  let offset = 0;
  for (const { name, dtype, shape } of tensors) {
    const length = elementCount(shape) * (bytesOf[dtype] as number);
    header[name] = { dtype, shape, data_offsets: [offset, offset + length] };
    offset += length;
  }
  const json = Buffer.from(JSON.stringify(header));
  const padded = Buffer.concat([json, Buffer.alloc((8 - (json.length % 8)) % 8, ' ')]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  await writeFile(file, (async function* () {
    yield Buffer.concat([length, padded]);
    for (const { parts } of tensors) yield* parts();
  })(), { flush: true });
}

async function readHeader(handle: FileHandle, refuse: Refuse): Promise<{ entries: Map<string, Entry>; dataStart: number }> {
  const { size } = await handle.stat();
  if (size < 8) throw refuse(`it has only ${size} bytes`);
  const headerBytes = Number((await readAt(handle, 0, 8, refuse)).readBigUInt64LE());
  if (headerBytes > maxHeaderBytes || 8 + headerBytes > size) throw refuse(`its header of ${headerBytes} bytes does not fit in ${size} bytes`);
  const entries = parseHeader((await readAt(handle, 8, headerBytes, refuse)).toString('utf8'), refuse);
  for (const [name, { dtype, shape, data_offsets: [begin, end] }] of entries) {
    const width = bytesOf[dtype];
    if (width === undefined) throw refuse(`tensor "${name}" has type ${dtype}; F32, F16 and BF16 can be read`);
    const count = elementCount(shape);
    if (end - begin !== count * width) throw refuse(`tensor "${name}" of shape [${shape.join(', ')}] has ${end - begin} bytes instead of ${count * width}`);
    if (8 + headerBytes + end > size) throw refuse(`tensor "${name}" ends beyond the end of the file`);
  }
  // The format allows neither gaps nor overlaps: where there are some, two files were mixed up or the header is damaged.
  let at = 0;
  for (const [name, { data_offsets: [begin, end] }] of [...entries].sort(([, a], [, b]) => a.data_offsets[0] - b.data_offsets[0] || a.data_offsets[1] - b.data_offsets[1])) {
    if (begin !== at) throw refuse(`tensor "${name}" begins at byte ${begin} of the data, where the one before it ends at ${at}`);
    at = end;
  }
  if (8 + headerBytes + at !== size) throw refuse(`it has ${size} bytes, but its tensors end at byte ${8 + headerBytes + at}`);
  return { entries, dataStart: 8 + headerBytes };
}

function parseHeader(text: string, refuse: Refuse): Map<string, Entry> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw refuse('its header is not JSON');
  }
  const header = z.record(z.string(), z.unknown()).safeParse(json);
  if (!header.success) throw refuse('its header is not an object');
  const entries = new Map<string, Entry>();
  for (const [name, value] of Object.entries(header.data)) {
    if (name === '__metadata__') continue;
    const entry = Entry.safeParse(value);
    if (!entry.success) throw refuse(`"${[name, ...(entry.error.issues[0]?.path ?? [])].map(String).join('.')}" in its header is wrong: ${entry.error.issues[0]?.message}`);
    entries.set(name, entry.data);
  }
  return entries;
}

/** Values of one of the file's types as float32. */
export function decodeValues(dtype: string, { buffer, byteOffset, byteLength }: Buffer<ArrayBuffer>, into: Float32Array): void {
  const raw = byteOffset === 0 && byteLength === buffer.byteLength ? buffer : buffer.slice(byteOffset, byteOffset + byteLength);
  if (dtype === 'F32') into.set(new Float32Array(raw));
  else if (dtype === 'F16') float16ToFloat32(new Uint16Array(raw), into);
  else bfloat16ToFloat32(new Uint16Array(raw), into);
}

/** Values as little-endian bytes; the 16-bit types round to nearest even. */
export function encodeValues(dtype: SafetensorsType, values: Float32Array): Buffer {
  const data = dtype === 'F32' ? values : dtype === 'F16' ? float32ToFloat16(values) : float32ToBfloat16(values);
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}
