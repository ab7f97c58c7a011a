import type { SyntaxNode } from '@lezer/common';
import { isHole, merged } from './pieces.ts';
import type { Piece } from './pieces.ts';

/** How one Python literal is written. */
export interface PythonStyle { prefix: string; quote: string; /** A backslash and a line break right after the quote. */ continued: boolean }

const opening = /^([a-zA-Z]*)("""|'''|"|')(\\\r?\n)?/;

export function pythonStyle(code: string): PythonStyle | null {
  const [, prefix = '', quote, continued] = opening.exec(code) ?? [];
  if (quote === undefined || /[bt]/i.test(prefix)) return null;
  return { prefix, quote, continued: continued !== undefined && !/r/i.test(prefix) };
}

/** The pieces of a String or FormatString; null for bytes, and for escapes whose meaning only Python knows (`\N{…}`). */
export function readPython(text: string, node: SyntaxNode): Piece[] | null {
  const code = text.slice(node.from, node.to);
  const style = pythonStyle(code);
  if (style === null) return null;
  const { prefix, quote } = style;
  const start = node.from + prefix.length + quote.length;
  const end = node.to - quote.length;
  if (end < start || !code.endsWith(quote)) return null;
  const isFormat = /f/i.test(prefix);
  const pieces: Piece[] = [];
  const read = (from: number, to: number): boolean => {
    const decoded = decode(text.slice(from, to).replace(/\r\n?/g, '\n'), /r/i.test(prefix), isFormat);
    if (decoded !== null) pieces.push(decoded);
    return decoded !== null;
  };
  let at = start;
  for (const field of isFormat ? node.getChildren('FormatReplacement') : []) {
    if (!read(at, field.from)) return null;
    const placeholder = text.slice(field.from, field.to).replace(/\r\n?/g, '\n');
    pieces.push({ by: 'language', name: fieldName(text, field), placeholder, code: placeholder });
    at = field.to;
  }
  return read(at, end) ? merged(pieces) : null;
}

/** The expression of a field, without its format. */
function fieldName(text: string, field: SyntaxNode): string {
  const last = field.getChild('FormatConversion') ?? field.getChild('FormatSpec') ?? field.lastChild;
  return text.slice(field.from + 1, last?.from ?? field.to).replace(/\s*=\s*$/, '').replace(/\s+/g, ' ').trim();
}

const simple: Record<string, string> = { '\n': '', '\\': '\\', "'": "'", '"': '"', a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

function decode(text: string, raw: boolean, isFormat: boolean): string | null {
  let known = true;
  const pattern = isFormat ? /\{\{|\}\}|\\(?:([0-7]{1,3})|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([^{}]?))/gs : /\\(?:([0-7]{1,3})|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(.?))/gs;
  const decoded = text.replace(pattern, (whole: string, octal?: string, x?: string, u?: string, long?: string, other?: string) => {
    if (whole === '{{' || whole === '}}') return whole.charAt(0);
    if (raw) return whole;
    const code = octal !== undefined ? Number.parseInt(octal, 8) : Number.parseInt(x ?? u ?? long ?? '', 16);
    if (!Number.isNaN(code)) {
      known &&= code <= 0x10ffff;
      return known ? String.fromCodePoint(code) : '';
    }
    if (other === 'N' || other === 'x' || other === 'u' || other === 'U') known = false;
    return simple[other ?? ''] ?? whole;
  });
  return known ? decoded : null;
}

/** One literal that has the value of these pieces, in a style as near to the given one as can be. Line breaks are `\n`. */
export function writePython(pieces: readonly Piece[], style: PythonStyle, { oneLine = false } = {}): string {
  const isFormat = /f/i.test(style.prefix) || pieces.some(isHole);
  const text = pieces.map((piece) => (isHole(piece) ? '' : piece)).join('');
  const quote = chooseQuote(pieces, text, style.quote, oneLine);
  const triple = quote.length === 3;
  const letters = isFormat && !/f/i.test(style.prefix) ? `f${style.prefix.replace(/u/i, '')}` : style.prefix;
  if (/r/i.test(letters) && canBeRaw(pieces, quote)) return letters + quote + pieces.map((piece) => (isHole(piece) ? piece.code : doubled(piece, isFormat))).join('') + quote;
  const body = pieces.map((piece, index) => (isHole(piece) ? piece.code : doubled(escape(piece, quote, index === pieces.length - 1), isFormat))).join('');
  return letters.replace(/r/i, '') + quote + (style.continued && triple ? '\\\n' : '') + body + quote;
}

/** Braces that are text. An escape holds none, since `\N{…}` is never written. */
const doubled = (text: string, isFormat: boolean): string => (isFormat ? text.replace(/[{}]/g, '$&$&') : text);

function chooseQuote(pieces: readonly Piece[], text: string, quote: string, oneLine: boolean): string {
  const mark = quote.charAt(0);
  const other = mark === '"' ? "'" : '"';
  const breaks = text.split('\n').length - 1;
  const wantsLines = !oneLine && quote.length === 1 && breaks > 0 && (breaks > 2 || text.length > 100);
  const single = text.includes(mark) && !text.includes(other) ? [other, mark] : [mark, other];
  const triple = [mark.repeat(3), other.repeat(3)];
  const candidates = quote.length === 3 ? [...triple, ...single] : wantsLines ? [...triple, ...single] : [...single, ...triple];
  return candidates.find((candidate) => pieces.every((piece) => !isHole(piece) || fits(piece.code, candidate))) ?? quote;
}

/** Before Python 3.12 the expression of a field can hold neither the quotes of its string nor, in one line, a line break. */
const fits = (code: string, quote: string): boolean => !code.includes(quote) && (quote.length === 3 || !code.includes('\n'));

function canBeRaw(pieces: readonly Piece[], quote: string): boolean {
  return pieces.every((piece, index) => {
    if (isHole(piece)) return true;
    const mark = quote.charAt(0);
    const isLast = index === pieces.length - 1;
    if (unprintable.test(piece) || (quote.length === 1 && piece.includes('\n'))) return false;
    // Before the closing quote a backslash would keep it from closing.
    return !piece.includes(quote) && !(isLast && (piece.endsWith(mark) || endsOdd(piece)));
  });
}

/** Whether it ends in an odd number of backslashes: the last one would escape what follows. */
const endsOdd = (text: string): boolean => (/\\*$/.exec(text)?.[0].length ?? 0) % 2 === 1;

const unprintable = /[\x00-\x08\x0b-\x1f\x7f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

function escape(text: string, quote: string, isLast: boolean): string {
  const triple = quote.length === 3;
  const mark = quote.charAt(0);
  let escaped = text
    .replace(/\\/g, '\\\\')
    .replace(triple ? /\r/g : /[\n\r\t]/g, (found) => ({ '\n': '\\n', '\r': '\\r', '\t': '\\t' })[found] ?? found)
    .replace(new RegExp(unprintable.source, 'g'), (found) => hexEscape(found));
  escaped = triple ? escaped.replaceAll(quote, `${mark}${mark}\\${mark}`) : escaped.replaceAll(mark, `\\${mark}`);
  if (triple && isLast && escaped.endsWith(mark) && !endsOdd(escaped.slice(0, -1))) escaped = `${escaped.slice(0, -1)}\\${mark}`;
  return escaped;
}

function hexEscape(unit: string): string {
  const code = unit.charCodeAt(0);
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
}
