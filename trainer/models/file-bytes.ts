import { open, type FileHandle } from 'node:fs/promises';
import { TrainerError } from '../protocol/errors.ts';

/** Opens a file for reading. Throws TrainerError `not_found` or `environment`. */
export async function openForReading(file: string): Promise<FileHandle> {
  return open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    throw new TrainerError(error.code === 'ENOENT' ? 'not_found' : 'environment', `${file} cannot be opened: ${error.message}`, { cause: error });
  });
}

/** Bytes of a file, in memory of their own that starts at offset 0, so that typed-array views are aligned. Throws `refuse(…)` at the end of the file. */
export async function readAt(handle: FileHandle, position: number, length: number, refuse: (problem: string) => TrainerError): Promise<Buffer<ArrayBuffer>> {
  const buffer = Buffer.from(new ArrayBuffer(length));
  for (let done = 0; done < length;) {
    const { bytesRead } = await handle.read(buffer, done, length - done, position + done);
    if (bytesRead === 0) throw refuse('it ended while it was being read');
    done += bytesRead;
  }
  return buffer;
}
