import { CsvError, parse } from 'csv-parse/sync';
import { TrainerError } from '../../protocol/errors.ts';
import { badRow, textOf, type RowOfFile } from './reader.ts';

/** Comma-separated, with a header line. Every value stays text: only the agent knows what "007" means. */
export function readCsv(bytes: Uint8Array, file: string): RowOfFile[] {
  let header: string[] = [];
  let line = 1; // of the record being read, to name it when it is malformed
  try {
    return parse(textOf(bytes, file), {
      columns: (names: string[]) => {
        const repeated = names.find((name, index) => names.indexOf(name) !== index);
        if (repeated !== undefined) throw badRow(file, 1, `the column "${repeated}" is there twice. Rename one.`);
        return header = names;
      },
      skip_empty_lines: true,
      on_record: (record: Record<string, string>, { lines }) => {
        // `lines` counts up to the end of the record, of which quoted values may span several.
        const row: RowOfFile = { value: record, line: lines - lineBreaks(record) };
        line = lines + 1;
        return row;
      },
    });
  } catch (error) {
    if (error instanceof TrainerError) throw error;
    if (error instanceof CsvError) throw badRow(file, typeof error.lines === 'number' ? error.lines : line, `this is not a row of CSV with ${header.length} columns: ${error.message}.`, error);
    throw error;
  }
}

function lineBreaks(record: Record<string, string>): number {
  return Object.values(record).reduce((sum, value) => sum + (value.match(/\r\n|\n|\r/g)?.length ?? 0), 0);
}
