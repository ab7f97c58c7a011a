import type { FileHandle } from 'node:fs/promises';
import { readAt } from '../../models/file-bytes.ts';
import type { TrainerError } from '../../protocol/errors.ts';

/** Where the bytes of a file in an archive lie. */
export interface Stored { position: number; length: number }

const longestComment = 65_535;
const longestDirectory = 2 ** 28;

/** The files of a zip archive without compression, as PyTorch writes, by their names without the folder that all are in. */
export async function readArchive(handle: FileHandle, refuse: (problem: string) => TrainerError): Promise<Map<string, Stored>> {
  const { size } = await handle.stat();
  const tail = await readAt(handle, Math.max(0, size - longestComment - 22), Math.min(size, longestComment + 22), refuse);
  const end = tail.lastIndexOf('PK\x05\x06', undefined, 'latin1');
  if (end < 0 || end + 22 > tail.length) throw refuse('it is no zip archive, as PyTorch writes since version 1.6');
  const { offset, length } = await directoryOf(handle, size, tail, end, refuse);
  if (length > longestDirectory || offset + length > size) throw refuse('its directory lies outside of it');
  const directory = await readAt(handle, offset, length, refuse);
  const files = new Map<string, Stored>();
  for (let at = 0; at + 46 <= directory.length && directory.toString('latin1', at, at + 4) === 'PK\x01\x02';) {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((field) => directory.readUInt16LE(at + field)) as [number, number, number];
    if (at + 46 + nameLength + extraLength > directory.length) throw refuse('its directory is damaged');
    const name = directory.toString('utf8', at + 46, at + 46 + nameLength);
    if (directory.readUInt16LE(at + 10) !== 0) throw refuse(`"${name}" in it is compressed`);
    const { stored, header } = place(directory, at, at + 46 + nameLength, extraLength);
    if (header + 30 > size) throw refuse(`"${name}" begins beyond its end`);
    const local = await readAt(handle, header, 30, refuse);
    const position = header + 30 + local.readUInt16LE(26) + local.readUInt16LE(28);
    if (position + stored > size) throw refuse(`"${name}" ends beyond its end`);
    files.set(name.slice(name.indexOf('/') + 1), { position, length: stored });
    at += 46 + nameLength + extraLength + commentLength;
  }
  return files;
}

/** Beyond 4 GiB or 65535 files the directory's place is in a record of its own, which another in front of the end points to. */
async function directoryOf(handle: FileHandle, size: number, tail: Buffer, end: number, refuse: (problem: string) => TrainerError): Promise<{ offset: number; length: number }> {
  const locator = end - 20;
  if (locator < 0 || tail.toString('latin1', locator, locator + 4) !== 'PK\x06\x07') return { length: tail.readUInt32LE(end + 12), offset: tail.readUInt32LE(end + 16) };
  const position = Number(tail.readBigUInt64LE(locator + 8));
  if (position > size) throw refuse('its directory lies outside of it');
  const record = await readAt(handle, position, 56, refuse);
  return { length: Number(record.readBigUInt64LE(40)), offset: Number(record.readBigUInt64LE(48)) };
}

/** Size and place of an entry; values beyond 32 bits are in an extra field, in this order and only those. */
function place(directory: Buffer, at: number, extra: number, extraLength: number): { stored: number; header: number } {
  const fields = [directory.readUInt32LE(at + 24), directory.readUInt32LE(at + 20), directory.readUInt32LE(at + 42)];
  for (let field = extra; field + 4 <= extra + extraLength; field += 4 + directory.readUInt16LE(field + 2)) {
    if (directory.readUInt16LE(field) !== 1) continue;
    let value = field + 4;
    fields.forEach((small, i) => {
      if (small !== 0xffffffff || value + 8 > extra + extraLength) return;
      fields[i] = Number(directory.readBigUInt64LE(value));
      value += 8;
    });
  }
  return { stored: fields[1] as number, header: fields[2] as number };
}
