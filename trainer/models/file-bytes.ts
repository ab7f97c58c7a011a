import { open, stat, type FileHandle } from 'node:fs/promises';
import { TrainerError, whyUnreadable } from '../protocol/errors.ts';

/** Opens a file for reading. Throws TrainerError `not_found`, `bad_input` where it is something else than a file, or `environment`. */
export async function openForReading(file: string): Promise<FileHandle> {
  return regular(file).then(() => open(file, 'r')).catch((error: NodeJS.ErrnoException) => {
    if (error instanceof TrainerError) throw error;
    throw new TrainerError(error.code === 'ENOENT' ? 'not_found' : 'environment', `${file} cannot be opened: ${whyUnreadable(error)}. ${error.code === 'ENOENT' ? 'Put it there, or name another.' : 'It must be a readable file.'}`, { cause: error });
  });
}

/** Others are not opened: a pipe would wait for who writes into it. */
async function regular(file: string): Promise<void> {
  if (!(await stat(file)).isFile()) throw new TrainerError('bad_input', `${file} is not a file. Put the file of weights there.`);
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
