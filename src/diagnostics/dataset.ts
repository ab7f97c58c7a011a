/** One row of a dataset: its place in the file, and the fields it has (null when it is no object). */
export interface Row { line: number; from: number; to: number; fields: string[] | null; problem: string | null }

/** The first rows of a file of tasks, one JSON object a line. */
export interface Dataset { name: string; file: string; rows: Row[] }

const rowLimit = 2000;

/** Reads JSON Lines. Empty lines are no rows; a line that does not parse is a row with a problem. */
export function readDataset(name: string, file: string, text: string): Dataset {
  const rows: Row[] = [];
  let from = 0;
  for (let line = 0; from < text.length && rows.length < rowLimit; line++) {
    const newline = text.indexOf('\n', from);
    const to = newline === -1 ? text.length : newline;
    const content = text.slice(from, to).trim();
    if (content !== '') rows.push({ line, from, to: text[to - 1] === '\r' ? to - 1 : to, ...readRow(content) });
    from = to + 1;
  }
  return { name, file, rows };
}

function readRow(content: string): Pick<Row, 'fields' | 'problem'> {
  try {
    const value: unknown = JSON.parse(content);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return { fields: isObject ? Object.keys(value) : null, problem: null };
  } catch (error) {
    return { fields: null, problem: error instanceof Error ? error.message : String(error) };
  }
}
