import type { SyntaxNode, Tree } from '@lezer/common';

interface Parser { parse(text: string): Tree }

const maxPieces = 20;
const maxParsed = 1 << 20; // characters parsed anew: a long text that is no program is not tried at each of its lines
const text_ = /^(String|FormatString|ContinuedString|TemplateString|RegExp|JSX\w*|\w*Comment)$/;
const statement = /(Statement|Declaration|FunctionDefinition|ClassDefinition)$/;

/**
 * Takes a source apart that does not parse because it is in the middle of an edit. A bracket that is still open makes a parser
 * take the statements below it for its contents; so a statement of the module (`starts` matches its beginning, in the first
 * column) that was lost in this way begins a new piece, which is parsed anew. Offsets are those of the whole text.
 * @param whole what the parser made of the whole text
 * @returns the top node of each piece
 */
export function parseInPieces(parser: Parser, text: string, whole: Tree, starts: RegExp): SyntaxNode[] {
  const pieces: SyntaxNode[] = [];
  let tree = whole;
  let rest = text;
  const most = Math.min(maxPieces, maxParsed / text.length);
  for (let from = 0; ;) {
    const lost = pieces.length < most ? firstLost(tree, rest, starts, from) : null;
    if (lost === null) return [...pieces, tree.topNode];
    pieces.push(parser.parse(rest.slice(0, lost)).topNode);
    from = lost;
    rest = '\n'.repeat(lost) + text.slice(lost);
    tree = parser.parse(rest);
  }
}

function firstLost(tree: Tree, text: string, starts: RegExp, after: number): number | null {
  for (const { index } of text.matchAll(starts)) if (index > after && isLost(tree.resolveInner(index, 1), index)) return index;
  return null;
}

function isLost(at: SyntaxNode, index: number): boolean {
  for (let node: SyntaxNode | null = at; node !== null; node = node.parent) {
    if (text_.test(node.name)) return false;
    const { parent } = node;
    if (node.from === index && statement.test(node.name) && (parent === null || parent.type.isTop || parent.name === 'DecoratedStatement' || parent.name === 'ExportDeclaration' || parent.parent?.type.isTop === true)) return false;
  }
  return true;
}
