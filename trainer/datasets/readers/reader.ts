import { TrainerError } from '../../protocol/errors.ts';

/** One row as a JSON value, and its 1-based line (row, in formats without lines). */
export interface RowOfFile { value: unknown; line: number }

/** Reads all rows of a file. `file` is for messages only. */
export type Reader = (bytes: Uint8Array, file: string) => RowOfFile[] | Promise<RowOfFile[]>;

export function badRow(file: string, line: number, problem: string, cause?: unknown): TrainerError {
  return new TrainerError('bad_input', `${file}, line ${line}: ${problem}`, { cause });
}

/** UTF-8 text without byte order mark; a wrong byte is named with its line. */
export function textOf(bytes: Uint8Array, file: string): string {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    return decoder.decode(bytes);
  } catch (error) {
    const newline = 0x0a;
    for (let line = 1, start = 0; ; line++) {
      const end = bytes.indexOf(newline, start);
      try {
        decoder.decode(bytes.subarray(start, end < 0 ? undefined : end));
      } catch {
        throw badRow(file, line, 'the text is not UTF-8. Save the file as UTF-8.', error);
      }
      if (end < 0) throw error;
      start = end + 1;
    }
  }
}
