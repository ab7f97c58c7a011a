import type { Prompt, PromptVariable } from '../protocol/prompts.ts';
import { freeVariables } from './jinja.ts';
import { isHole, merged } from './pieces.ts';
import type { Piece } from './pieces.ts';

export type Engine = Prompt['engine'];

/** How a template is filled in while the program runs. `none`: it is not; what the language itself fills in is no concern of an engine. */
export interface Filling {
  engine: 'none' | 'format' | 'replace' | 'jinja' | 'mustache';
  /** Names of positional placeholders, in order. */
  positional: string[];
  /** `replace`: what is replaced, as it is written in the text; `*` in it stands for any name. */
  replaced: string[];
}


export const unfilled: Filling = { engine: 'none', positional: [], replaced: [] };

/** Finds an engine's placeholders in the texts of a literal; null when the engine would refuse the template. */
export function readFilling(pieces: readonly Piece[], filling: Filling): Piece[] | null {
  switch (filling.engine) {
    case 'format': return readFormat(pieces, filling.positional);
    case 'replace': return merged(pieces.flatMap((piece) => (isHole(piece) ? [piece] : cutAt(piece, filling.replaced))));
    // Their tags stay text: a template may hold loops and conditions around them.
    default: return [...pieces];
  }
}

/** The opposite: placeholders of the engine become text, and texts are escaped so that the engine leaves them alone. */
export function writeFilling(pieces: readonly Piece[], engine: Engine): Piece[] {
  return merged(pieces.map((piece) => {
    if (isHole(piece)) return piece.by === 'engine' ? piece.code : piece;
    return engine === 'format' ? piece.replace(/[{}]/g, '$&$&') : piece;
  }));
}

/** A field of str.format: `{name}`, `{task[city].size!r:>{width}}`, `{}`, `{0}`. */
const field = /\{\{|\}\}|\{([^{}!:]*)((?:![rsa])?(?::(?:[^{}]|\{[^{}]*\})*)?)\}|[{}]/g;

function readFormat(pieces: readonly Piece[], positional: string[]): Piece[] | null {
  const found: Piece[] = [];
  let automatic = 0;
  for (const piece of pieces) {
    if (isHole(piece)) {
      found.push(piece);
      continue;
    }
    let at = 0;
    for (const match of piece.matchAll(field)) {
      found.push(piece.slice(at, match.index));
      at = match.index + match[0].length;
      const [whole, path, format = ''] = match;
      if (whole === '{{' || whole === '}}') found.push(whole.charAt(0));
      else if (path === undefined) return null;
      else {
        const written = path === '' ? String(automatic++) : path.trim();
        const placeholder = `{${written}${format}}`;
        found.push({ by: 'engine', name: positional[Number(written)] ?? written, placeholder, code: placeholder });
      }
    }
    found.push(piece.slice(at));
  }
  return merged(found);
}

function cutAt(text: string, placeholders: string[]): Piece[] {
  const known = placeholders.filter((placeholder) => placeholder !== '');
  if (known.length === 0) return [text];
  const pattern = new RegExp(`(${known.map((each) => each.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace('\\*', '\\s*[A-Za-z_][\\w.]*\\s*')).join('|')})`);
  return text.split(pattern).map((part, index): Piece => (index % 2 === 1 ? { by: 'engine', name: part.replace(/^\W+|\W+$/g, '') || part, placeholder: part, code: part } : part));
}

/** What goes into a prompt, each once, in order. */
export function variablesOf(pieces: readonly Piece[], engine: Engine): PromptVariable[] {
  const variables = new Map<string, PromptVariable>();
  for (const { name, placeholder } of pieces.filter(isHole)) variables.set(placeholder, { name, placeholder });
  for (const piece of pieces) {
    if (isHole(piece)) continue;
    for (const variable of templateVariables(piece, engine) ?? []) if (![...variables.values()].some(({ name }) => name === variable.name)) variables.set(variable.placeholder, variable);
  }
  return [...variables.values()];
}

/** The variables of a Jinja or Mustache template by the tag that first names them; null when it does not parse. */
export function templateVariables(text: string, engine: Engine): PromptVariable[] | null {
  if (engine === 'jinja') return freeVariables(text);
  return engine === 'mustache' ? mustacheVariables(text) : [];
}

function mustacheVariables(text: string): PromptVariable[] | null {
  const open: string[] = [];
  const variables = new Map<string, PromptVariable>();
  for (const { 0: placeholder, 1: triple, 2: sign, 3: name = '' } of text.matchAll(/\{\{(?:\{\s*([^{}]*?)\s*\}|([#^/!>&=])?\s*([^{}]*?)\s*)\}\}/g)) {
    const variable = triple ?? name;
    if (sign === '!' || sign === '=' || sign === '>') continue;
    if (sign === '/') {
      if (open.pop() !== variable) return null;
      continue;
    }
    if (sign === '#' || sign === '^') open.push(variable);
    if (variable !== '.' && !variables.has(variable)) variables.set(variable, { name: variable, placeholder });
  }
  return open.length > 0 ? null : [...variables.values()];
}
