import type { SyntaxNode } from '@lezer/common';
import { isHole, merged, textOfPieces } from './pieces.ts';
import type { Piece } from './pieces.ts';

/** The quote of a TypeScript or JavaScript literal. */
export type ScriptStyle = '"' | "'" | '`';

export function scriptStyle(code: string): ScriptStyle | null {
  const quote = code.charAt(0);
  return quote === '"' || quote === "'" || quote === '`' ? quote : null;
}

/**
 * The pieces of a String or TemplateString; null when it is not closed.
 * @param raw leave escapes as they are, as a tag that reads the raw strings gets them
 */
export function readScript(text: string, node: SyntaxNode, raw = false): Piece[] | null {
  const quote = scriptStyle(text.charAt(node.from));
  if (quote === null || node.to - node.from < 2 || text.charAt(node.to - 1) !== quote) return null;
  const read = (from: number, to: number): string => {
    const code = text.slice(from, to).replace(/\r\n?/g, '\n');
    return raw ? code : decode(code);
  };
  const pieces: Piece[] = [];
  let at = node.from + 1;
  for (const hole of node.getChildren('Interpolation')) {
    pieces.push(read(at, hole.from));
    const placeholder = text.slice(hole.from, hole.to).replace(/\r\n?/g, '\n');
    pieces.push({ by: 'language', name: placeholder.slice(2, -1).replace(/\s+/g, ' ').trim(), placeholder, code: placeholder });
    at = hole.to;
  }
  return merged([...pieces, read(at, node.to - 1)]);
}

const simple: Record<string, string> = { '\n': '', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

function decode(text: string): string {
  return text.replace(/\\(?:([0-7]{1,3})|x([\da-fA-F]{2})|u([\da-fA-F]{4})|u\{([\da-fA-F]+)\}|(.?))/gs, (_, octal?: string, x?: string, u?: string, long?: string, other?: string) => {
    const code = octal !== undefined ? Number.parseInt(octal, 8) : Number.parseInt(x ?? u ?? long ?? '', 16);
    if (Number.isNaN(code)) return simple[other ?? ''] ?? other ?? '';
    return code <= 0x10ffff ? String.fromCodePoint(code) : '';
  });
}

/** One literal that has the value of these pieces, in a style as near to the given one as can be. Line breaks are `\n`. */
export function writeScript(pieces: readonly Piece[], style: ScriptStyle, { oneLine = false } = {}): string {
  const quote = chooseQuote(pieces, style, oneLine);
  return quote + pieces.map((piece) => (isHole(piece) ? piece.code : escape(piece, quote))).join('') + quote;
}

function chooseQuote(pieces: readonly Piece[], style: ScriptStyle, oneLine: boolean): ScriptStyle {
  if (style === '`' || pieces.some(isHole)) return '`';
  const text = textOfPieces(pieces);
  const breaks = text.split('\n').length - 1;
  if (!oneLine && breaks > 0 && (breaks > 2 || text.length > 100)) return '`';
  const other = style === '"' ? "'" : '"';
  return text.includes(style) && !text.includes(other) ? other : style;
}

const unprintable = /[\x00-\x09\x0b-\x1f\x7f\u2028\u2029\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

function escape(text: string, quote: ScriptStyle): string {
  const escaped = text.replace(/\\/g, '\\\\').replaceAll(quote, `\\${quote}`);
  const inQuotes = quote === '`' ? escaped.replaceAll('${', '\\${') : escaped.replaceAll('\n', '\\n');
  return inQuotes.replace(unprintable, (unit) => {
    if (unit === '\t') return quote === '`' ? unit : '\\t';
    if (unit === '\r') return '\\r';
    const code = unit.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}
