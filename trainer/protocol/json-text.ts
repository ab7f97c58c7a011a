import { messageOf } from './errors.ts';

/** Text that is not JSON: what is wrong, and where (1-based). The message is one line and quotes no more than a character. */
export class JsonTextError extends Error {
  readonly line: number;
  readonly column: number;

  constructor(text: string, position: number, problem: string, cause: unknown) {
    super(problem, { cause });
    const before = text.slice(0, position).split('\n');
    this.line = before.length;
    this.column = before.at(-1)!.length + 1;
  }
}

/** JSON.parse, with a byte order mark allowed. Throws JsonTextError: the engine's own errors name a place only sometimes, and never a line. */
export function parseJsonText(text: string): unknown {
  const body = text.replace(/^\ufeff/, '');
  try {
    return JSON.parse(body) as unknown;
  } catch (error) {
    const { position, problem } = firstProblem(body) ?? { position: body.length, problem: messageOf(error) };
    throw new JsonTextError(body, position, problem, error);
  }
}

const blank = /[ \t\n\r]*/y;
const stringStart = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\u0000-\u001f]*)*/y;
const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const wordPart = /[\w.+-]*/y;

type Expected = 'a value' | 'a value or "]"' | 'a name in double quotes' | 'a name in double quotes or "}"' | '":"' | '"," or "]"' | '"," or "}"' | 'the end of the text';

/** Reads the text as far as it is JSON (RFC 8259). null: it is. */
export function firstProblem(text: string): { position: number; problem: string } | null {
  const open: ('[' | '{')[] = [];
  let expected: Expected = 'a value';
  let position = 0;
  const match = (pattern: RegExp): string => {
    pattern.lastIndex = position;
    return pattern.exec(text)?.[0] ?? '';
  };
  const afterValue = (): Expected => (open.length === 0 ? 'the end of the text' : open.at(-1) === '[' ? '"," or "]"' : '"," or "}"');
  for (;;) {
    position += match(blank).length;
    const found = text[position];
    if (found === undefined) return expected === 'the end of the text' ? null : { position, problem: `the text ends where ${expected} should follow` };
    const isName = expected.startsWith('a name');
    if (found === '"' && (isName || expected.startsWith('a value'))) {
      position += match(stringStart).length;
      if (text[position] !== '"') return { position, problem: stringProblem(text[position]) };
      position += 1;
      expected = isName ? '":"' : afterValue();
    } else if ((found === '[' || found === '{') && expected.startsWith('a value')) {
      open.push(found);
      position += 1;
      expected = found === '[' ? 'a value or "]"' : 'a name in double quotes or "}"';
    } else if ((found === ']' || found === '}') && expected.endsWith(`or "${found}"`)) {
      open.pop();
      position += 1;
      expected = afterValue();
    } else if (found === ',' && expected.startsWith('"," or')) {
      position += 1;
      expected = open.at(-1) === '[' ? 'a value' : 'a name in double quotes';
    } else if (found === ':' && expected === '":"') {
      position += 1;
      expected = 'a value';
    } else {
      const word = expected.startsWith('a value') ? match(scalar) : '';
      if (word === '' || match(wordPart) !== word) return { position, problem: `${JSON.stringify(match(wordPart).slice(0, 20) || found)} stands where ${expected} should be` };
      position += word.length;
      expected = afterValue();
    }
  }
}

function stringProblem(found: string | undefined): string {
  if (found === undefined) return 'the text ends inside a string';
  if (found === '\\') return 'a backslash in a string must be written \\\\';
  return found === '\n' || found === '\r' ? 'the line ends inside a string' : 'a string holds a control character; write it as \\u and its number';
}
