import zlib from 'node:zlib';
import { parquetReadObjects, type Compressors } from 'hyparquet';
import { messageOf, TrainerError } from '../../protocol/errors.ts';
import { badRow, type RowOfFile } from './reader.ts';

type Decompress = (input: Uint8Array) => Uint8Array;

/** SNAPPY is the library's own; the rest is Node's zlib, of which zstd came with Node 22.15. */
function compressors(): Compressors {
  const { zstdDecompressSync } = zlib as unknown as { zstdDecompressSync?: Decompress };
  return {
    GZIP: (input) => copied(zlib.gunzipSync(input)),
    BROTLI: (input) => copied(zlib.brotliDecompressSync(input)),
    ...(zstdDecompressSync && { ZSTD: (input: Uint8Array) => copied(zstdDecompressSync(input)) }),
  };
}

/** A plain Uint8Array: the reader makes views on the buffer from its start. */
function copied(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}

/** Rows of a parquet file as JSON values: see `jsonOf`. */
export async function readParquet(bytes: Uint8Array, file: string): Promise<RowOfFile[]> {
  let rows: Record<string, unknown>[];
  try {
    rows = await parquetReadObjects({ file: copied(bytes).buffer as ArrayBuffer, compressors: compressors(), utf8: false });
  } catch (error) {
    const hint = /ZSTD/i.test(messageOf(error)) ? 'Use Node 22.15 or newer, or write the file with snappy compression.' : 'Write it anew, or as JSONL.';
    throw new TrainerError('bad_input', `The parquet file ${file} cannot be read: ${messageOf(error)}. ${hint}`, { cause: error });
  }
  return rows.map((row, index) => ({ value: jsonOf(row, file, index + 1), line: index + 1 }));
}

/**
 * 64-bit integers become numbers, or text where a number would round; dates ISO text; NaN and infinities null, as data frames
 * mean "missing". Bytes are text if they are UTF-8 (some writers do not mark their strings), else an error.
 */
function jsonOf(value: unknown, file: string, row: number): unknown {
  if (value === undefined) return null;
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (value === null || typeof value !== 'object') return value;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return decoded(value, file, row);
  if (Array.isArray(value)) return value.map((item) => jsonOf(item, file, row));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, jsonOf(item, file, row)]));
}

function decoded(bytes: Uint8Array, file: string, row: number): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw badRow(file, row, 'it holds binary data, which a task cannot. Leave that column out, or store text.', error);
  }
}
