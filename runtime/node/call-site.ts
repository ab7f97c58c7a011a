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
  const match = /(?:\(|at (?:async )?)((?:file:\/\/)?[^()\n]+?):(\d+):\d+\)?\s*$/.exec(stackLine);
  if (!match) return null;
  const file = match[1]!.startsWith('file://') ? fileURLToPath(match[1]!) : match[1]!;
  return file.startsWith('node:') ? null : { file, line: Number(match[2]) };
}
