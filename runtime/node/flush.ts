import type { Writable } from 'node:stream';

/** Resolves when what was printed has left the process: the runner reads a result only after the output that came before it. */
export async function flushOutput(): Promise<void> {
  await Promise.all([process.stdout, process.stderr].map(flush));
}

async function flush(stream: Writable): Promise<void> {
  if (stream.writableLength === 0 || stream.destroyed) return;
  await new Promise<void>((resolve) => stream.write('', () => resolve()));
}
