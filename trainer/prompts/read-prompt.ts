import type { SyntaxNode } from '@lezer/common';
import type { Prompt } from '../protocol/prompts.ts';
import type { Source } from '../source/syntax.ts';
import { readFilling, unfilled, variablesOf } from './engines.ts';
import type { Filling } from './engines.ts';
import { isAmbiguous, readLiteral } from './literal.ts';
import type { Literal } from './literal.ts';
import { holesOf, textOfPieces } from './pieces.ts';
import type { Piece } from './pieces.ts';

/** A literal as the prompt it is. */
export interface ReadPrompt extends Pick<Prompt, 'syntax' | 'engine' | 'text' | 'variables'> { literal: Literal; pieces: Piece[] }

/** null when the node is no literal, or one that could not be written back without doubt. */
export function readPrompt(source: Source, node: SyntaxNode, filling: Filling): ReadPrompt | null {
  const literal = readLiteral(source, node);
  const pieces = literal === null ? null : readFilling(literal.left, filling);
  if (literal === null || pieces === null || isAmbiguous(pieces)) return null;
  const engine = filling.engine !== 'none' && (filling.engine !== 'replace' || holesOf(pieces).some(({ by }) => by === 'engine')) ? filling.engine
    : holesOf(pieces).length > 0 ? 'literal' : 'none';
  return { literal, pieces, syntax: syntaxOf(source, literal), engine, text: textOfPieces(pieces), variables: variablesOf(pieces, engine) };
}

function syntaxOf(source: Source, { parts, pieces }: Literal): Prompt['syntax'] {
  const filled = holesOf(pieces).length > 0 || parts.some(({ name }) => name === 'FormatString' || name === 'TemplateString');
  return source.language === 'python' ? (filled ? 'python-f-string' : 'python-string') : filled ? 'script-template' : 'script-string';
}

/** How a known prompt is filled in. */
export function fillingOf({ engine, variables }: Prompt): Filling {
  if (engine === 'none' || engine === 'literal') return unfilled;
  return { engine, positional: [], replaced: variables.map(({ placeholder }) => placeholder) };
}
