import type { Source } from '../source/syntax.ts';
import { textOf } from '../source/syntax.ts';
import type { Literal } from './literal.ts';
import { isHole, merged } from './pieces.ts';
import type { Piece } from './pieces.ts';
import { pythonStyle, writePython } from './python-literal.ts';
import { scriptStyle, writeScript } from './script-literal.ts';

/** The code of a literal with other pieces, in the style and layout of the one there was. Line breaks are `\n`. */
export function writeLiteral(source: Source, literal: Literal, pieces: readonly Piece[]): string {
  const [first] = literal.parts;
  if (first === undefined) return '';
  const write = writerOf(source, textOf(source, first), literal.parts.length > 1);
  if (literal.node.from === first.from && literal.node.to === first.to) return write(pieces, false);
  const join = joinOf(source, literal);
  const terms = termsOf(pieces);
  const lines = terms.map((term) => (isOperand(term) ? [term.code] : (join.isLayout ? chunksOf(term, join.width) : [term]).map((chunk) => write(chunk, join.isLayout))));
  return lines.map((written) => written.join(join.between)).join(' + ');
}

type Term = Piece[] | (Piece & { by: 'operand'; code: string });
const isOperand = (term: Term): term is Exclude<Term, Piece[]> => !Array.isArray(term);

function writerOf(source: Source, code: string, isOneOfSeveral: boolean): (pieces: readonly Piece[], oneLine: boolean) => string {
  if (source.language === 'node') return (pieces, oneLine) => writeScript(pieces, scriptStyle(code) ?? '"', { oneLine });
  const style = pythonStyle(code) ?? { prefix: '', quote: '"', continued: false };
  const own = isOneOfSeveral ? { ...style, prefix: style.prefix.replace(/f/i, '') } : style;
  return (pieces, oneLine) => writePython(pieces, own, { oneLine });
}

/** How literals follow one another: as the first two did. */
function joinOf(source: Source, { parts }: Literal): { between: string; isLayout: boolean; width: number } {
  const [first, second] = parts;
  const written = first === undefined || second === undefined ? '' : source.text.slice(first.to, second.from).replace(/\r\n?/g, '\n');
  const isPlain = source.language === 'python' ? /^\s*[+\\]?\s*$/.test(written) : /^\s*\+\s*$/.test(written);
  const width = Math.max(60, ...parts.map((part) => part.to - part.from));
  const isLayout = parts.length > 1 && written.includes('\n');
  if (isPlain && isLayout) return { between: written, isLayout, width };
  const indent = /\n([ \t]*)[^\n]*$/.exec(written)?.[1] ?? '';
  return { between: (source.language === 'python' ? '' : ' +') + (isLayout ? `\n${indent}` : ' '), isLayout, width };
}

/** Texts and their fields between the operands of a sum. One of the first two is a literal, so that the sum is a text. */
function termsOf(pieces: readonly Piece[]): Term[] {
  const terms: Term[] = [];
  for (const piece of pieces) {
    const last = terms.at(-1);
    if (isHole(piece) && piece.by === 'operand') terms.push({ ...piece, by: 'operand' });
    else if (last !== undefined && !isOperand(last)) last.push(piece);
    else terms.push([piece]);
  }
  return terms.slice(0, 2).some((term) => !isOperand(term)) ? terms : [[], ...terms];
}

/** A long text cut after its line breaks and, where a line is too wide, between words. */
function chunksOf(pieces: readonly Piece[], width: number): Piece[][] {
  const chunks: Piece[][] = [];
  let length = Infinity;
  for (const word of pieces.flatMap((piece): Piece[] => (isHole(piece) ? [piece] : piece.split(/(?<= )(?! |\n)|(?<=\n)/)))) {
    const size = isHole(word) ? word.code.length : word.length;
    const last = chunks.at(-1);
    if (last === undefined || length + size > width) {
      chunks.push([word]);
      length = size;
    } else {
      last.push(word);
      length += size;
    }
    if (!isHole(word) && word.endsWith('\n')) length = Infinity;
  }
  return chunks.length === 0 ? [[]] : chunks.map(merged);
}
