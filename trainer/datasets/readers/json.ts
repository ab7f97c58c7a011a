import { JsonTextError, parseJsonText } from '../../protocol/json-text.ts';
import { badRow, textOf, type RowOfFile } from './reader.ts';

/** One JSON value per line; blank lines are skipped. */
export function readJsonLines(bytes: Uint8Array, file: string): RowOfFile[] {
  return linesOf(textOf(bytes, file), file);
}

/** An array of tasks, or (as some tools write .json) one task per line. */
export function readJson(bytes: Uint8Array, file: string): RowOfFile[] {
  const text = textOf(bytes, file);
  if (!text.trimStart().startsWith('[')) return linesOf(text, file);
  let values: unknown[];
  try {
    values = parseJsonText(text) as unknown[];
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    throw badRow(file, error.line, `this is not JSON: ${error.message} (column ${error.column}). Correct it here, or write one task per line.`, error);
  }
  const lines = elementLines(text);
  return values.map((value, index) => checked({ value, line: lines[index]! }, file));
}

function linesOf(text: string, file: string): RowOfFile[] {
  return text.split('\n').flatMap((content, index) => {
    if (content.trim() === '') return [];
    const line = index + 1;
    try {
      return [checked({ value: parseJsonText(content), line }, file)];
    } catch (error) {
      if (error instanceof JsonTextError) throw badRow(file, line, `this is not JSON: ${error.message} (column ${error.column}). Every line must be one complete JSON value.`, error);
      throw error;
    }
  });
}

function checked(row: RowOfFile, file: string): RowOfFile {
  if (row.value === null) throw badRow(file, row.line, 'the task is null. Give it an input, or remove the line.');
  return row;
}

/** The line on which each element of a (valid) JSON array begins. */
function elementLines(text: string): number[] {
  const lines: number[] = [];
  let line = 1;
  let depth = 0;
  let inString = false;
  let expected = false; // an element of the outer array comes next
  for (let position = 0; position < text.length; position++) {
    const character = text[position]!;
    if (character === '\n') line += 1;
    if (inString) {
      if (character === '\\') position += 1;
      else if (character === '"') inString = false;
      continue;
    }
    if (expected && !/[\s\]]/.test(character)) {
      lines.push(line);
      expected = false;
    }
    if (character === '"') inString = true;
    else if (character === '[' || character === '{') depth += 1;
    else if (character === ']' || character === '}') depth -= 1;
    if (depth === 1 && (character === ',' || (character === '[' && lines.length === 0))) expected = true;
  }
  return lines;
}
