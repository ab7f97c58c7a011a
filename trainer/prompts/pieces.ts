/**
 * A prompt in pieces: text that the model gets as it stands, and holes that something fills in.
 * `language`: a field of an f-string or template literal · `operand`: a value added with `+` · `engine`: a placeholder that a
 * template engine fills in when the program runs.
 */
export type Piece = string | Hole;

export interface Hole {
  by: 'language' | 'operand' | 'engine';
  /** As one would call it. */
  name: string;
  /** As it is written in Prompt.text. */
  placeholder: string;
  /** As it is written in the file. */
  code: string;
}

export const isHole = (piece: Piece): piece is Hole => typeof piece !== 'string';

export const holesOf = (pieces: readonly Piece[]): Hole[] => pieces.filter(isHole);

/** The text of Prompt.text. */
export const textOfPieces = (pieces: readonly Piece[]): string => pieces.map((piece) => (isHole(piece) ? piece.placeholder : piece)).join('');

/** The text alone, without what is filled in. */
export const wordsOfPieces = (pieces: readonly Piece[]): string => pieces.map((piece) => (isHole(piece) ? ' ' : piece)).join('');

/** Texts that follow one another made one, empty ones left out. */
export function merged(pieces: readonly Piece[]): Piece[] {
  const result: Piece[] = [];
  for (const piece of pieces) {
    const last = result.at(-1);
    if (isHole(piece)) result.push(piece);
    else if (last !== undefined && !isHole(last)) result[result.length - 1] = last + piece;
    else if (piece !== '') result.push(piece);
  }
  return result;
}

/** A text that people or models wrote, cut at the placeholders of these holes. */
export function cutAtHoles(text: string, holes: readonly Hole[]): Piece[] {
  const byPlaceholder = new Map(holes.map((hole) => [hole.placeholder, hole]));
  const longestFirst = [...byPlaceholder.keys()].sort((a, b) => b.length - a.length);
  const pieces: Piece[] = [];
  let start = 0;
  for (let at = 0; at < text.length;) {
    const found = longestFirst.find((placeholder) => text.startsWith(placeholder, at));
    if (found === undefined) {
      at++;
      continue;
    }
    pieces.push(text.slice(start, at), byPlaceholder.get(found) ?? found);
    at += found.length;
    start = at;
  }
  return merged([...pieces, text.slice(start)]);
}

/** Applies a change of the text to pieces; the holes are carried through it as characters that no text has. */
export function mapText(pieces: readonly Piece[], change: (text: string) => string): Piece[] {
  const holes = holesOf(pieces);
  let next = 0;
  const text = pieces.map((piece) => (isHole(piece) ? String.fromCodePoint(firstMark + next++) : piece)).join('');
  const parts = change(text).split(/([\u{F0000}-\u{FFFFD}])/u);
  return merged(parts.map((part) => {
    const index = (part.codePointAt(0) ?? 0) - firstMark;
    return index >= 0 ? holes[index] ?? part : part;
  }));
}

const firstMark = 0xf0000;
