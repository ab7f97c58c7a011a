import { readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';

/** Many thousands of translated sources and texts of overlays. */
const mostBytes = 64 * 2 ** 20;
/** What was used since may be in use, also by another trainer of the workspace. */
const sparedMilliseconds = 7 * 24 * 3600 * 1000;

/** Where agent processes keep what they make of sources. Every file can be made anew, and is touched when it is used. */
export function cacheFolder(workspace: string): string { return path.join(workspace, '.agent-trainer', 'cache'); }

/** Deletes the least recently used files of a cache folder while it holds more than `most` bytes, but none used since `sparedSince` (milliseconds since the epoch). */
export function cleanCache(folder: string, most = mostBytes, sparedSince = Date.now() - sparedMilliseconds): void {
  const files = filesOf(folder).sort((a, b) => a.used - b.used);
  let bytes = files.reduce((sum, { size }) => sum + size, 0);
  for (const { file, size, used } of files) {
    if (bytes <= most || used >= sparedSince) return;
    try {
      rmSync(file, { force: true });
      bytes -= size;
    } catch {
      // Windows keeps what another program has open.
    }
  }
}

function filesOf(folder: string): { file: string; size: number; used: number }[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return []; // no agent has run yet
  }
  return names.flatMap((name) => {
    const file = path.join(folder, name);
    const status = statSync(file, { throwIfNoEntry: false });
    return status?.isFile() ? [{ file, size: status.size, used: status.mtimeMs }] : [];
  });
}
