import { tokenTrie, type TrieNode } from './token-trie.ts';

/** Some of the rows in one packed row of `length` tokens: a part of their trie, each common prefix once. */
export interface PackedRow { rows: number[]; nodes: Set<TrieNode>; length: number }

/** How rows are put together: each in one of its own; to the one before it while there is room; or wherever it adds the fewest tokens. */
export type Strategy = 'alone' | 'next' | 'best';

/** Rows as paths in their trie. */
export class RowTrie {
  readonly #paths: TrieNode[][];
  /** Row numbers, depth first. */
  readonly order: readonly number[];

  constructor(rows: readonly ArrayLike<number>[]) {
    this.#paths = tokenTrie(rows);
    const leaf = (row: number) => this.path(row).at(-1)?.id ?? 0;
    this.order = rows.map((_, row) => row).sort((a, b) => leaf(a) - leaf(b) || a - b);
  }

  path(row: number): readonly TrieNode[] { return this.#paths[row] as TrieNode[]; }

  /** Tokens of a row. */
  lengthOf(row: number): number { return this.path(row).at(-1)?.end ?? 0; }

  /** Packed rows of at most `capacity` tokens; `rows` in depth-first order, none of them longer. */
  pack(rows: readonly number[], capacity: number, strategy: Strategy): PackedRow[] {
    const packed: PackedRow[] = [];
    for (const row of rows) {
      const open = strategy === 'best' ? packed : strategy === 'next' ? packed.slice(-1) : [];
      let chosen: { into: PackedRow; added: number } | null = null;
      for (const into of open) {
        const added = this.#added(row, into);
        const better = !chosen || added < chosen.added || (added === chosen.added && into.length > chosen.into.length);
        if (better && into.length + added <= capacity) chosen = { into, added };
      }
      if (!chosen) packed.push((chosen = { into: { rows: [], nodes: new Set(), length: 0 }, added: this.lengthOf(row) }).into);
      chosen.into.rows.push(row);
      chosen.into.length += chosen.added;
      for (const node of this.path(row)) chosen.into.nodes.add(node);
    }
    return packed;
  }

  /** Tokens that a row adds to a packed row. */
  #added(row: number, { nodes }: PackedRow): number {
    const shared = this.path(row).findLast((node) => nodes.has(node));
    return this.lengthOf(row) - (shared?.end ?? 0);
  }
}

/** Where each node of a packed row begins in it, depth first, and where its subtree ends. */
export function spans({ nodes }: PackedRow): Map<TrieNode, { start: number; subtreeEnd: number }> {
  const found = new Map<TrieNode, { start: number; subtreeEnd: number }>();
  let next = 0;
  for (const node of [...nodes].sort((a, b) => a.id - b.id)) {
    found.set(node, { start: next, subtreeEnd: next });
    next += node.end - node.from;
    for (let above: TrieNode | null = node; above; above = above.parent) (found.get(above) as { subtreeEnd: number }).subtreeEnd = next;
  }
  return found;
}
