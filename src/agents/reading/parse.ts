import type { SyntaxNode, Tree } from '@lezer/common';

interface Parser { parse(text: string): Tree }

const maxPieces = 20;
const text_ = /^(String|FormatString|ContinuedString|TemplateString|RegExp|JSX\w*|\w*Comment)$/;
const statement = /(Statement|Declaration|FunctionDefinition|ClassDefinition)$/;

/**
 * Parses a source that may be in the middle of an edit. A bracket that is still open makes a parser take the statements below
 * it for its contents; so a statement of the module (`starts` matches its beginning, in the first column) that was lost in this
 * way begins a new piece, which is parsed anew. Offsets are those of the whole text. Returns the top node of each piece.
 */
export function parseInPieces(parser: Parser, text: string, starts: RegExp): SyntaxNode[] {
  const pieces: SyntaxNode[] = [];
  let rest = text;
  for (let from = 0; ;) {
    const tree = parser.parse(rest);
    const lost = pieces.length < maxPieces && hasErrors(tree) ? firstLost(tree, rest, starts, from) : null;
    if (lost === null) return [...pieces, tree.topNode];
    pieces.push(parser.parse(rest.slice(0, lost)).topNode);
    from = lost;
    rest = '\n'.repeat(lost) + text.slice(lost);
  }
}

function hasErrors(tree: Tree): boolean {
  const cursor = tree.cursor();
  do if (cursor.type.isError) return true; while (cursor.next());
  return false;
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
