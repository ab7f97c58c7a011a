/** Tokens `from` … `end` of row `row`, which all rows of the subtree share. `id`: place in depth-first order. */
export interface TrieNode { id: number; parent: TrieNode | null; row: number; from: number; end: number }

interface Branch { node: TrieNode; children: Branch[]; longest: number }

/**
 * Rows of at least one token, merged by common prefixes. For each row its nodes from the root on, whose tokens are the row's. Depth first, the
 * subtree with the longest row comes first, of equal ones that with the first row.
 */
export function tokenTrie(rows: readonly ArrayLike<number>[]): TrieNode[][] {
  const paths: TrieNode[][] = rows.map(() => []);
  const tokens = (row: number) => rows[row] as ArrayLike<number>;
  const grow = (members: readonly number[], from: number, parent: TrieNode | null): Branch[] => {
    const branches = [...grouped(members, (row) => tokens(row)[from] as number).values()].map((group): Branch => {
      const node = { id: 0, parent, row: group[0] as number, from, end: commonLength(group.map(tokens), from) };
      for (const row of group) paths[row]?.push(node);
      const longer = group.filter((row) => tokens(row).length > node.end);
      return { node, children: longer.length > 0 ? grow(longer, node.end, node) : [], longest: group.reduce((most, row) => Math.max(most, tokens(row).length), 0) };
    });
    return branches.sort((a, b) => b.longest - a.longest || a.node.row - b.node.row);
  };
  let count = 0;
  const number = ({ node, children }: Branch): void => {
    node.id = count++;
    children.forEach(number);
  };
  grow(rows.map((_, row) => row), 0, null).forEach(number);
  return paths;
}

/** How many tokens all the lists begin with; they are equal up to `from`. */
function commonLength(lists: readonly ArrayLike<number>[], from: number): number {
  const [first, ...others] = lists as [ArrayLike<number>, ...ArrayLike<number>[]];
  let end = first.length;
  for (const list of others) {
    let at = from;
    while (at < end && at < list.length && list[at] === first[at]) at++;
    end = at;
  }
  return end;
}

function grouped(rows: readonly number[], key: (row: number) => number): Map<number, number[]> {
  const groups = new Map<number, number[]>();
  for (const row of rows) {
    const group = groups.get(key(row));
    if (group) group.push(row);
    else groups.set(key(row), [row]);
  }
  return groups;
}
