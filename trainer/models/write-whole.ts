import { access, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { TrainerError } from '../protocol/errors.ts';

/**
 * Has `write` make a file or folder under another name, which becomes `target` when it is complete and on disk.
 * Throws TrainerError `conflict` if `target` exists, and what `write` throws; then nothing stays behind.
 */
export async function writeWhole(target: string, write: (temporary: string) => Promise<void>): Promise<void> {
  if (await access(target).then(() => true, () => false)) throw new TrainerError('conflict', `${target} exists already. Choose another place, so that nothing is overwritten.`);
  const temporary = `${target}.tmp-${process.pid}`;
  await rm(temporary, { recursive: true, force: true });
  try {
    await write(temporary);
    await flush(temporary);
    await rename(temporary, target);
    await flush(path.dirname(target));
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw error;
  }
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
