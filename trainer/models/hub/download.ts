import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TrainerError } from '../../protocol/errors.ts';
import { cannotReach, mayPass, type HubClient, type HubFile } from './client.ts';

const tries = 5;
const firstWaitMs = 500;

/**
 * Brings a file of the hub to `target`, which appears only when all of it has arrived and its hash is right. What arrives is kept in `<target>.incomplete`:
 * a broken connection is taken up again there, also by a later call. Throws TrainerError `upstream`, or the signal's reason.
 */
export async function download(client: HubClient, commit: string, file: HubFile, target: string, options: { signal: AbortSignal; onBytes: (count: number) => void }): Promise<void> {
  const partial = `${target}.incomplete`;
  await mkdir(path.dirname(target), { recursive: true });
  for (let failed = 0; ;) {
    const before = await sizeOf(partial);
    try {
      if (before < file.size || before === 0) await receive(client, commit, file, partial, options);
      break;
    } catch (error) {
      options.signal.throwIfAborted();
      if (!mayPass(error)) throw error;
      failed = await sizeOf(partial) > before ? 1 : failed + 1; // as long as something arrives, go on
      if (failed >= tries) throw error instanceof TrainerError ? error : cannotReach(file.path, error);
      await sleep(firstWaitMs * 2 ** (failed - 1), undefined, { signal: options.signal });
    }
  }
  await verify(file, partial);
  await rename(partial, target);
}

/** Appends to the partial file what is missing. */
async function receive(client: HubClient, commit: string, file: HubFile, partial: string, { onBytes }: { onBytes: (count: number) => void }): Promise<void> {
  const response = await client.open(commit, file.path, await sizeOf(partial));
  const handle = await open(partial, response.status === 206 ? 'a' : 'w');
  try {
    for await (const chunk of response.body ?? []) {
      await handle.writeFile(chunk as Uint8Array); // `write` may write a part alone
      onBytes((chunk as Uint8Array).length);
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  const arrived = await sizeOf(partial);
  if (arrived < file.size) throw new Error(`the connection ended after ${arrived} of ${file.size} bytes`);
}

async function verify(file: HubFile, partial: string): Promise<void> {
  const size = await sizeOf(partial);
  const hash = await hashOf(file, partial, size);
  if (size === file.size && hash === file.hash) return;
  await rm(partial, { force: true });
  const problem = size === file.size ? `its ${file.sha256 === null ? 'git hash' : 'SHA-256'} is ${hash} instead of ${file.hash}` : `it has ${size} bytes instead of ${file.size}`;
  throw new TrainerError('upstream', `${file.path} from the Hugging Face hub arrived damaged: ${problem}. It was deleted; run it again to download it anew.`);
}

async function hashOf({ sha256 }: HubFile, partial: string, size: number): Promise<string> {
  const hash: Hash = sha256 === null ? createHash('sha1').update(`blob ${size}\0`) : createHash('sha256');
  for await (const chunk of createReadStream(partial)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

async function sizeOf(file: string): Promise<number> { return stat(file).then(({ size }) => size, () => 0); }
