import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Connection } from './rpc-client.ts';
import { serverFileOf } from './state-folder.ts';

/** What `agent-trainer serve` prints as its first line. */
export const Started = z.object({ url: z.string(), token_file: z.string() });

/** What is in its token file (mode 0600). */
const ServerFile = z.object({ url: z.string(), token: z.string(), pid: z.number().int().optional() });
export type ServerFile = z.infer<typeof ServerFile>;

/** Reads a token file; null when it is absent or not one (then nobody is there to talk to). */
export async function readServerFile(file: string): Promise<ServerFile | null> {
  try {
    return ServerFile.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    return null;
  }
}

/** The trainer that already serves this folder, if one is alive: a training run outlives the window that started it. */
export async function findRunningTrainer(folder: string): Promise<Connection | null> {
  const server = await readServerFile(serverFileOf(folder));
  if (server === null) return null;
  try {
    const response = await fetch(new URL('/healthz', server.url), { headers: { authorization: `Bearer ${server.token}` }, signal: AbortSignal.timeout(3000) });
    return response.ok ? { url: server.url, token: server.token } : null;
  } catch {
    return null; // left behind by a trainer that was killed
  }
}
