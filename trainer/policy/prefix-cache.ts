/** Keys and values of a stretch of text after its `parent`'s, as `KvCache.read` gives them; with the logits after it where a prompt ended there. */
export interface Block {
  readonly parent: Block | null;
  readonly id: number;
  readonly key: string;
  readonly count: number;
  readonly data: Float32Array;
  readonly logits: Float32Array | null;
}

/** What a block is found by: the text before it and its own tokens. */
export function blockKey(parent: Block | null, tokens: readonly number[]): string { return `${parent?.id ?? 0}:${tokens.join()}`; }

/**
 * Prompts seen lately as a tree of blocks, so that text that begins like an earlier one takes the common blocks from here: the rollouts of a group, the turns of a
 * conversation. Bounded in bytes. A use of a block is a later use of its parents, so the one unused for longest has no children: nothing becomes unreachable.
 */
export class PrefixCache {
  readonly #capacity: number;
  /** Least recently used first. */
  readonly #blocks = new Map<string, Block>();
  #bytes = 0;
  #nextId = 1;

  constructor(capacityBytes: number) { this.#capacity = capacityBytes; }

  get bytes(): number { return this.#bytes; }

  find(parent: Block | null, tokens: readonly number[]): Block | undefined {
    const block = this.#blocks.get(blockKey(parent, tokens));
    if (block) this.#use(block);
    return block;
  }

  /** Keeps a block and gives it; null where its parent has been dropped meanwhile. */
  add(parent: Block | null, tokens: readonly number[], data: Float32Array, logits: Float32Array | null): Block | null {
    if (parent && this.#blocks.get(parent.key) !== parent) return null;
    const key = blockKey(parent, tokens);
    const known = this.#blocks.get(key);
    if (known && (known.logits || !logits)) return known;
    // The same id: what follows the block stays reachable when it is kept anew with its logits.
    const block = { parent, id: known?.id ?? this.#nextId++, key, count: tokens.length, data, logits };
    if (known) this.#drop(known);
    this.#blocks.set(key, block);
    this.#bytes += sizeOf(block);
    this.#use(block);
    for (const oldest of this.#blocks.values()) {
      if (this.#bytes <= this.#capacity) break;
      this.#drop(oldest);
    }
    return this.#blocks.get(key) === block ? block : null;
  }

  clear(): void {
    this.#blocks.clear();
    this.#bytes = 0;
  }

  #use(block: Block): void {
    for (let at: Block | null = block; at; at = at.parent) {
      const kept = this.#blocks.get(at.key);
      if (!kept) continue;
      this.#blocks.delete(at.key);
      this.#blocks.set(at.key, kept);
    }
  }

  #drop(block: Block): void {
    this.#blocks.delete(block.key);
    this.#bytes -= sizeOf(block);
  }
}

function sizeOf({ data, logits }: Block): number { return data.byteLength + (logits?.byteLength ?? 0); }
