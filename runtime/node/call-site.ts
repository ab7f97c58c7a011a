import { fileURLToPath } from 'node:url';
import { state } from './state.ts';

/**
 * `code.*` attributes of the line that called `above`. Empty outside the trainer, where nobody reads them.
 * The worker runs with source maps on, so the line is the one in the user's TypeScript.
 */
// eslint-disable-next-line @typescript-eslint/no-unsafe-function-type -- what captureStackTrace takes
export function callSite(above: Function): Record<string, string | number> {
  if (!state.inWorker) return {};
  const holder: { stack?: string } = {};
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 1;
  Error.captureStackTrace(holder, above);
  Error.stackTraceLimit = limit;
  const place = placeOf(holder.stack ?? '');
  return place ? { 'code.file.path': place.file, 'code.line.number': place.line } : {};
}

/** File and line of one stack line (`at f (file:///a.ts:3:1)`, `at /a.ts:3:1`). */
export function placeOf(stackLine: string): { file: string; line: number } | null {
  const match = /^\s*at (?:.*? \((?<inner>.+)\)|(?:async )?(?<bare>.+))\s*$/m.exec(stackLine);
  const [, path, line] = /^(.+):(\d+):\d+$/.exec(match?.groups?.inner ?? match?.groups?.bare ?? '') ?? [];
  if (path === undefined || path.startsWith('node:')) return null;
  return { file: path.startsWith('file://') ? fileURLToPath(path) : path, line: Number(line) };
}
