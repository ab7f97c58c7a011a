import { messageOf } from '../../protocol/errors.ts';
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
    values = JSON.parse(text) as unknown[];
  } catch (error) {
    throw badRow(file, lineOfSyntaxError(text, error), `this is not JSON: ${messageOf(error)}. Correct it here, or write one task per line.`, error);
  }
  const lines = elementLines(text);
  return values.map((value, index) => checked({ value, line: lines[index]! }, file));
}

function linesOf(text: string, file: string): RowOfFile[] {
  return text.split('\n').flatMap((content, index) => {
    if (content.trim() === '') return [];
    const line = index + 1;
    try {
      return [checked({ value: JSON.parse(content) as unknown, line }, file)];
    } catch (error) {
      if (error instanceof SyntaxError) throw badRow(file, line, `this is not JSON: ${error.message}. Every line must be one complete JSON value.`, error);
      throw error;
    }
  });
}

function checked(row: RowOfFile, file: string): RowOfFile {
  if (row.value === null) throw badRow(file, row.line, 'the task is null. Give it an input, or remove the line.');
  return row;
}

function lineOfSyntaxError(text: string, error: unknown): number {
  const position = /at position (\d+)/.exec(messageOf(error))?.[1];
  return text.slice(0, position === undefined ? undefined : Number(position)).split('\n').length;
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
