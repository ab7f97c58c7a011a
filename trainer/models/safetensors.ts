import { open, stat, writeFile, type FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { TrainerError } from '../protocol/errors.ts';
import { bfloat16ToFloat32, float16ToFloat32, float32ToFloat16 } from './half.ts';

/** Values are always float32 in memory, whatever the file holds. */
export interface NamedTensor { readonly shape: readonly number[]; readonly data: Float32Array }

const Entry = z.strictObject({
  dtype: z.string(),
  shape: z.array(z.number().int().min(0)),
  data_offsets: z.tuple([z.number().int().min(0), z.number().int().min(0)]),
});
const bytesOf: Record<string, number> = { F32: 4, F16: 2, BF16: 2 };
const maxHeaderBytes = 100_000_000; // the format's own limit

/**
 * Reads a safetensors file (little-endian; header length u64, JSON header, data).
 * Throws TrainerError `bad_input` naming the file, and the tensor where one is at fault.
 */
export async function readSafetensors(file: string): Promise<Map<string, NamedTensor>> {
  const refuse = (problem: string) => new TrainerError('bad_input', `${file} is not a valid safetensors file: ${problem}. Download or write it again.`);
  const cannotOpen = (error: NodeJS.ErrnoException) => {
    throw new TrainerError(error.code === 'ENOENT' ? 'not_found' : 'environment', `${file} cannot be opened: ${error.message}`, { cause: error });
  };
  const status = await stat(file).catch(cannotOpen);
  if (!status.isFile()) throw refuse('it is not a file');
  const handle = await open(file, 'r').catch(cannotOpen);
  try {
    const { size } = status;
    if (size < 8) throw refuse(`it has only ${size} bytes`);
    const headerBytes = Number((await readAt(handle, 0, 8)).readBigUInt64LE());
    if (headerBytes > maxHeaderBytes || 8 + headerBytes > size) throw refuse(`its header of ${headerBytes} bytes does not fit in ${size} bytes`);
    const entries = parseHeader((await readAt(handle, 8, headerBytes)).toString('utf8'), refuse);
    const tensors = new Map<string, NamedTensor>();
    for (const [name, { dtype, shape, data_offsets: [begin, end] }] of entries) {
      const width = bytesOf[dtype];
      if (width === undefined) throw refuse(`tensor "${name}" has type ${dtype}; F32, F16 and BF16 can be read`);
      const count = shape.reduce((product, dim) => product * dim, 1);
      if (end - begin !== count * width) throw refuse(`tensor "${name}" of shape [${shape.join(', ')}] has ${end - begin} bytes instead of ${count * width}`);
      if (8 + headerBytes + end > size) throw refuse(`tensor "${name}" ends beyond the end of the file`);
      tensors.set(name, { shape, data: decode(dtype, await readAt(handle, 8 + headerBytes + begin, end - begin)) });
    }
    return tensors;
  } finally {
    await handle.close();
  }
}

/** Writes tensors in the order given. F16 rounds to nearest even. */
export async function writeSafetensors(file: string, tensors: ReadonlyMap<string, NamedTensor>, dtype: 'F32' | 'F16' = 'F32'): Promise<void> {
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } };
  const parts: Buffer[] = [];
  let offset = 0;
  for (const [name, { shape, data }] of tensors) {
    const part = dtype === 'F32' ? bytes(data) : bytes(float32ToFloat16(data));
    header[name] = { dtype, shape, data_offsets: [offset, offset + part.length] };
    offset += part.length;
    parts.push(part);
  }
  const json = Buffer.from(JSON.stringify(header));
  const padded = Buffer.concat([json, Buffer.alloc((8 - (json.length % 8)) % 8, ' ')]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  await writeFile(file, [length, padded, ...parts], { flush: true });
}

function parseHeader(text: string, refuse: (problem: string) => TrainerError): Map<string, z.infer<typeof Entry>> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw refuse('its header is not JSON');
  }
  const header = z.record(z.string(), z.unknown()).safeParse(json);
  if (!header.success) throw refuse('its header is not an object');
  const entries = new Map<string, z.infer<typeof Entry>>();
  for (const [name, value] of Object.entries(header.data)) {
    if (name === '__metadata__') continue;
    const entry = Entry.safeParse(value);
    if (!entry.success) throw refuse(`"${[name, ...(entry.error.issues[0]?.path ?? [])].map(String).join('.')}" in its header is wrong: ${entry.error.issues[0]?.message}`);
    entries.set(name, entry.data);
  }
  return entries;
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.from(new ArrayBuffer(length)); // own memory from offset 0, so that typed-array views are aligned
  let done = 0;
  while (done < length) {
    const { bytesRead } = await handle.read(buffer, done, length - done, position + done);
    if (bytesRead === 0) throw new TrainerError('bad_input', 'The safetensors file ended while it was being read. Download or write it again.');
    done += bytesRead;
  }
  return buffer;
}

function decode(dtype: string, raw: Buffer): Float32Array {
  if (dtype === 'F32') return new Float32Array(raw.buffer, raw.byteOffset, raw.length / 4);
  const halves = new Uint16Array(raw.buffer, raw.byteOffset, raw.length / 2);
  return dtype === 'F16' ? float16ToFloat32(halves) : bfloat16ToFloat32(halves);
}

function bytes(data: Float32Array | Uint16Array): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}
