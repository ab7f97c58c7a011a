/** A placeholder of a format string, or a brace that is none. Offsets into the text given. */
export interface Brace { kind: 'field' | 'unclosed' | 'unopened'; from: number; to: number; name: string }

/** Reads a format string (Python's `str.format`, also LangChain's f-string templates). `{{` and `}}` are braces that are meant. */
export function readBraces(text: string): Brace[] {
  const found: Brace[] = [];
  for (let at = 0; at < text.length; at++) {
    const mark = text[at];
    if (mark !== '{' && mark !== '}') continue;
    if (text[at + 1] === mark) at++;
    else if (mark === '}') found.push({ kind: 'unopened', from: at, to: at + 1, name: '' });
    else {
      const end = closing(text, at);
      if (end === -1) found.push({ kind: 'unclosed', from: at, to: at + 1, name: '' });
      else {
        found.push({ kind: 'field', from: at, to: end + 1, name: fieldName(text.slice(at + 1, end)) });
        at = end;
      }
    }
  }
  return found;
}

/** Fields nest once, in a format: `{value:{width}}`. */
function closing(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text[at] === '{') depth++;
    else if (text[at] === '}' && --depth === 0) return at;
  }
  return -1;
}

/** What a field names: the part before its attribute, index, conversion and format. */
function fieldName(field: string): string {
  let end = 0;
  while (end < field.length && !['.', '[', '!', ':'].includes(field[end] ?? '')) end++;
  return field.slice(0, end);
}

/** Whether a name can be a placeholder: a word, a number or (the next argument) nothing. */
export function isName(name: string): boolean {
  return [...name].every((letter, index) => letter === '_' || (letter.toLowerCase() !== letter.toUpperCase()) || (letter >= '0' && letter <= '9' && (index > 0 || Number.isInteger(Number(name)))));
}
