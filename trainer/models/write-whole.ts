import { access, mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { TrainerError } from '../protocol/errors.ts';

/**
 * Has `write` make a file or folder under another name, which becomes `target` when it is complete and on disk. Folders above it are made.
 * Throws TrainerError `conflict` if `target` exists, `environment` where it cannot be written (a full disk, say), and what `write` throws; then nothing stays behind.
 */
export async function writeWhole(target: string, write: (temporary: string) => Promise<void>): Promise<void> {
  if (await access(target).then(() => true, () => false)) throw new TrainerError('conflict', `${target} exists already. Choose another place, so that nothing is overwritten.`);
  const temporary = `${target}.tmp-${process.pid}`;
  try {
    await rm(temporary, { recursive: true, force: true });
    await mkdir(path.dirname(target), { recursive: true });
    await write(temporary);
    await flush(temporary);
    await rename(temporary, target);
    await flush(path.dirname(target));
  } catch (error) {
    await rm(temporary, { recursive: true, force: true }).catch(() => undefined); // why it was not written is what counts
    throw notWritten(target, error);
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full. Free some space, or choose another place', EDQUOT: 'no more space is granted on this disk. Free some, or choose another place',
  EROFS: 'the file system is read-only. Choose another place', EACCES: 'it is not allowed there. Choose another place, or change the permissions', EPERM: 'it is not allowed there. Choose another place, or change the permissions',
  EFBIG: 'files of this size are not allowed there. Choose another place',
  ENOTDIR: 'a part of the path is a file. Choose another place', EEXIST: 'a part of the path is a file. Choose another place', ENAMETOOLONG: 'the name is too long. Choose a shorter one',
};

/** An error of the file system in words; others, and those of files that were read, as they are. */
function notWritten(target: string, error: unknown): unknown {
  const { code, path: place } = error as NodeJS.ErrnoException;
  const reason = reasons[code ?? ''];
  if (reason === undefined || (place !== undefined && !place.startsWith(target) && !target.startsWith(place))) return error;
  return new TrainerError('environment', `${target} could not be written: ${reason}.`, { cause: error });
}

/** Waits until a file or folder is on disk. Windows cannot flush folders. */
export async function flush(target: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(target, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
