import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

/** Contents of `server.json`. The file is readable for its owner alone: it holds the keys. */
export const ServerFile = z.object({ url: z.string(), token: z.string(), gateway_key: z.string(), pid: z.number().int() });
export type ServerFile = z.infer<typeof ServerFile>;

/**
 * Announces a trainer in `folder` and returns the file's path: `server.json`, or `server-<pid>.json` where a living
 * trainer is already announced there. A file left behind by a dead one is replaced.
 */
export async function writeServerFile(folder: string, server: ServerFile): Promise<string> {
  const own = path.join(folder, `server-${server.pid}.json`);
  const shared = path.join(folder, 'server.json');
  rmSync(own, { force: true });
  writeFileSync(own, `${JSON.stringify(server)}\n`, { mode: 0o600, flag: 'wx' });
  for (;;) {
    try {
      linkSync(own, shared); // atomic, and fails if another trainer was quicker
      rmSync(own);
      return shared;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      const other = readServerFile(shared);
      if (other && await answers(other)) return own;
      rmSync(shared, { force: true });
    }
  }
}

/** Removes the file if it still announces the trainer with this token. */
export function removeServerFile(file: string, token: string): void {
  if (readServerFile(file)?.token === token) rmSync(file, { force: true });
}

/** null: absent, or not such a file. */
export function readServerFile(file: string): ServerFile | null {
  try {
    return ServerFile.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return null;
  }
}

/** Whether the announced trainer lives. One that is too busy to answer in time does; a port used by another program does not. */
async function answers(server: ServerFile): Promise<boolean> {
  try {
    const response = await fetch(`${server.url}/healthz`, { headers: { authorization: `Bearer ${server.token}` }, signal: AbortSignal.timeout(2000) });
    return response.ok;
  } catch (error) {
    return (error as Error).name === 'TimeoutError';
  }
}
