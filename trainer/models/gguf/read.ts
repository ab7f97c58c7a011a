import type { FileHandle } from 'node:fs/promises';
import { TrainerError } from '../../protocol/errors.ts';
import { openForReading, readAt } from '../file-bytes.ts';
import { blockFormats } from './blocks.ts';
import { formatNames, valueTypes, type GgufScalar, type GgufValue, type Metadata, type ValueType } from './types.ts';

/** A tensor of a GGUF file. `shape` has the rows first, as everywhere else ([out, in] for matrices). */
export interface GgufTensor { name: string; shape: number[]; format: string; offset: number }
export interface GgufHeader { file: string; metadata: Metadata; tensors: ReadonlyMap<string, GgufTensor> }

type Refuse = (problem: string) => TrainerError;
const firstRead = 2 ** 20;
const readAtOnce = 2 ** 23;

export function isGguf(path: string): boolean { return path.toLowerCase().endsWith('.gguf'); }

/** Reads metadata and tensor list of a GGUF file (version 2 or 3, little-endian). Throws TrainerError naming the file. */
export async function readGguf(file: string): Promise<GgufHeader> {
  const refuse: Refuse = (problem) => new TrainerError('bad_input', `${file} is not a usable GGUF file: ${problem}. Download or write it again.`);
  const handle = await openForReading(file);
  try {
    const status = await handle.stat();
    // The header tells its length only by its end: read more until it fits.
    for (let length = firstRead; ; length *= 4) {
      const bytes = await readAt(handle, 0, Math.min(length, status.size), refuse);
      try {
        return { file, ...parseHeader(new HeaderBytes(bytes, status.size, refuse), status.size, refuse) };
      } catch (error) {
        if (!(error instanceof TooShort)) throw error;
        if (length >= status.size) throw refuse('it ends within its header');
      }
    }
  } finally {
    await handle.close();
  }
}

/** Values of a tensor as float32, dequantised piece by piece. Throws TrainerError `bad_input` when its format cannot be read. */
export async function readTensor(handle: FileHandle, { file }: GgufHeader, { name, format, offset }: GgufTensor, into: Float32Array): Promise<void> {
  const refuse: Refuse = (problem) => new TrainerError('bad_input', `${file}: tensor "${name}": ${problem}.`);
  const blocks = blockFormats[format];
  if (!blocks) throw refuse(`it is stored as ${format}; ${Object.keys(blockFormats).join(', ')} can be read. Use a file of another quantisation, best F16 or Q8_0`);
  const step = Math.floor(readAtOnce / blocks.bytes) * blocks.values;
  for (let start = 0; start < into.length; start += step) {
    const part = into.subarray(start, start + step);
    blocks.decode(await readAt(handle, offset + start / blocks.values * blocks.bytes, part.length / blocks.values * blocks.bytes, refuse), part);
  }
}

function parseHeader(b: HeaderBytes, size: number, refuse: Refuse): Omit<GgufHeader, 'file'> {
  if (b.take(4).toString('latin1') !== 'GGUF') throw refuse('it does not begin with "GGUF"');
  const version = b.number('uint32');
  if (version !== 2 && version !== 3) throw refuse(`its version is ${version}; versions 2 and 3 can be read`);
  const tensorCount = b.count();
  const metadata = new Map<string, GgufValue>();
  for (let left = b.count(); left > 0; left--) metadata.set(b.string(), b.value(b.type()));
  const alignment = metadata.get('general.alignment') ?? 32;
  if (typeof alignment !== 'number' || alignment < 1 || alignment % 8 !== 0) throw refuse(`its alignment is ${String(alignment)}`);
  const tensors: GgufTensor[] = [];
  for (let i = 0; i < tensorCount; i++) tensors.push(tensorInfo(b, refuse));
  const dataStart = Math.ceil(b.position / alignment) * alignment;
  for (const tensor of tensors) {
    tensor.offset += dataStart;
    const end = tensor.offset + byteLength(tensor, refuse);
    if (end > size) throw refuse(`tensor "${tensor.name}" ends at byte ${end} of ${size}; the file is cut off`);
  }
  return { metadata, tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])) };
}

function tensorInfo(b: HeaderBytes, refuse: Refuse): GgufTensor {
  const name = b.string();
  const rank = b.number('uint32');
  if (rank > 4) throw refuse(`tensor "${name}" has ${rank} dimensions`);
  const shape = Array.from({ length: rank }, () => b.number('uint64')).reverse();
  const type = b.number('uint32');
  return { name, shape, format: formatNames[type] ?? `type ${type}`, offset: b.number('uint64') };
}

/** Bytes of a tensor; 0 when the format is not known, which shows when it is read. */
function byteLength({ name, shape, format }: GgufTensor, refuse: Refuse): number {
  const blocks = blockFormats[format];
  if (!blocks) return 0;
  if ((shape.at(-1) ?? 1) % blocks.values !== 0) throw refuse(`rows of tensor "${name}" have ${shape.at(-1)} values, no multiple of ${blocks.values} as ${format} needs`);
  return shape.reduce((product, dim) => product * dim, 1) / blocks.values * blocks.bytes;
}

class TooShort extends Error {}

/** A cursor over the beginning of a file. */
class HeaderBytes {
  position = 0;
  readonly #bytes: Buffer;
  readonly #fileSize: number;
  readonly #refuse: Refuse;

  constructor(bytes: Buffer, fileSize: number, refuse: Refuse) {
    this.#bytes = bytes;
    this.#fileSize = fileSize;
    this.#refuse = refuse;
  }

  take(length: number): Buffer {
    if (length > this.#fileSize) throw this.#refuse(`its header speaks of ${length} bytes or entries, and the file has ${this.#fileSize} bytes`);
    if (this.position + length > this.#bytes.length) throw new TooShort();
    return this.#bytes.subarray(this.position, this.position += length);
  }

  number(type: Exclude<ValueType, 'bool' | 'string' | 'array'>): number {
    switch (type) {
      case 'uint8': return this.take(1).readUInt8();
      case 'int8': return this.take(1).readInt8();
      case 'uint16': return this.take(2).readUInt16LE();
      case 'int16': return this.take(2).readInt16LE();
      case 'uint32': return this.take(4).readUInt32LE();
      case 'int32': return this.take(4).readInt32LE();
      case 'float32': return this.take(4).readFloatLE();
      case 'float64': return this.take(8).readDoubleLE();
      case 'uint64': return Number(this.take(8).readBigUInt64LE());
      case 'int64': return Number(this.take(8).readBigInt64LE());
    }
  }

  /** Of entries that take a byte or more each. */
  count(): number {
    const count = this.number('uint64');
    if (count > this.#fileSize) throw this.#refuse(`its header speaks of ${count} entries, and the file has ${this.#fileSize} bytes`);
    return count;
  }

  string(): string { return this.take(this.count()).toString('utf8'); }

  type(): ValueType {
    const type = this.number('uint32');
    const name = valueTypes[type];
    if (name === undefined) throw this.#refuse(`its metadata has a value of type ${type}`);
    return name;
  }

  value(type: ValueType): GgufValue {
    if (type !== 'array') return this.#scalar(type);
    const element = this.type();
    if (element === 'array') throw this.#refuse('its metadata has a list of lists');
    const values: GgufScalar[] = [];
    for (let left = this.count(); left > 0; left--) values.push(this.#scalar(element));
    return values;
  }

  #scalar(type: Exclude<ValueType, 'array'>): GgufScalar {
    if (type === 'string') return this.string();
    return type === 'bool' ? this.number('uint8') !== 0 : this.number(type);
  }
}
