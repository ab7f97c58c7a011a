import type { SyntaxNode } from '@lezer/common';
import { isText, textOf } from '../source/syntax.ts';
import type { Source } from '../source/syntax.ts';
import { isHole, merged } from './pieces.ts';
import type { Hole, Piece } from './pieces.ts';
import { readPython } from './python-literal.ts';
import { readScript } from './script-literal.ts';
import { applyTrims, trimsAround } from './trims.ts';
import type { Trim } from './trims.ts';

/** A string literal, or several that are put together side by side or with `+`, other values between them included. */
export interface Literal {
  node: SyntaxNode;
  /** The literals it is made of, in order. */
  parts: SyntaxNode[];
  /** As written. */
  pieces: Piece[];
  trims: Trim[];
  /** As the trims around it leave it. */
  left: Piece[];
}

/** The literal a node is; null when it is none, or has something in it that cannot be read without running it. */
export function readLiteral(source: Source, node: SyntaxNode): Literal | null {
  const operands = operandsOf(source, node);
  const parts = operands.filter(isText);
  if (parts.length === 0) return null;
  const pieces: Piece[] = [];
  for (const operand of withoutSums(source, operands)) {
    const read = 'by' in operand ? [operand] : readPart(source, operand);
    if (read === null) return null;
    pieces.push(...read);
  }
  const trims = trimsAround(source, node);
  if (node.parent?.name === 'TaggedTemplateExpression' && !(trims[0]?.isTag === true && readsAlike(textOf(source, node)))) return null;
  const whole = merged(pieces);
  return { node, parts, pieces: whole, trims, left: applyTrims(whole, trims) };
}

/** A tag that takes indentation away reads escapes by rules of its own, these apart. */
const readsAlike = (code: string): boolean => !/\\(?![`$]|\r?\n)/.test(code);

export function readPart(source: Source, node: SyntaxNode): Piece[] | null {
  return source.language === 'python' ? readPython(source.text, node) : readScript(source.text, node);
}

/** The terms of a sum; a node that is no sum is its only one. */
function operandsOf(source: Source, node: SyntaxNode): SyntaxNode[] {
  if (node.name === 'ContinuedString') return childrenOf(node);
  if (!isSum(source, node) || node.firstChild === null || node.lastChild === null) return [node];
  return [node.firstChild, node.lastChild].flatMap((side) => {
    let inner: SyntaxNode = side;
    while (inner.name === 'ParenthesizedExpression' && inner.firstChild?.nextSibling != null) inner = inner.firstChild.nextSibling;
    const operands = operandsOf(source, inner);
    // Brackets around numbers mean something, around texts they do not.
    return inner === side || operands.some(isText) ? operands : [side];
  });
}

export function isSum(source: Source, node: SyntaxNode): boolean {
  return node.name === 'BinaryExpression' && node.getChild('ArithOp') !== null && textOf(source, node.getChild('ArithOp')!) === '+';
}

/** What is no literal becomes a hole. In JavaScript `a + b + ''` adds numbers first, so such a beginning is one value. */
function withoutSums(source: Source, operands: SyntaxNode[]): (SyntaxNode | Hole)[] {
  const first = source.language === 'node' ? operands.findIndex(isText) : 0;
  const [start, next] = [operands[0], operands[first - 1]];
  if (first > 1 && start !== undefined && next !== undefined) return [operandHole(source, start.from, next.to), ...operands.slice(first).map((each) => (isText(each) ? each : operandHole(source, each.from, each.to)))];
  return operands.map((each) => (isText(each) ? each : operandHole(source, each.from, each.to)));
}

function operandHole(source: Source, from: number, to: number): Hole {
  const code = source.text.slice(from, to).replace(/\r\n?/g, '\n');
  return { by: 'operand', name: code.replace(/\s+/g, ' '), placeholder: source.language === 'python' ? `{${code}}` : `\${${code}}`, code };
}

/** Whether a placeholder could also be text, or be filled in at two times: by the language and by an engine. */
export function isAmbiguous(pieces: readonly Piece[]): boolean {
  const byEngine = new Map<string, boolean>();
  for (const { placeholder, by } of pieces.filter(isHole)) {
    if ((byEngine.get(placeholder) ?? by === 'engine') !== (by === 'engine')) return true;
    byEngine.set(placeholder, by === 'engine');
  }
  return pieces.some((piece) => !isHole(piece) && [...byEngine.keys()].some((placeholder) => piece.includes(placeholder)));
}

function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) children.push(child);
  return children;
}
