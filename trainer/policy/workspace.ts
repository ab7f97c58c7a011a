/** Memory by name that grows to the largest size asked for and is used again: micro-batches of different shapes share it. */
export class Workspace {
  readonly #blocks = new Map<string, Float32Array>();

  /** `size` elements, with whatever they held before. */
  take(name: string, size: number): Float32Array {
    let block = this.#blocks.get(name);
    if (!block || block.length < size) {
      this.#blocks.delete(name);
      block = new Float32Array(size);
      this.#blocks.set(name, block);
    }
    return block.subarray(0, size);
  }

  clear(): void { this.#blocks.clear(); }
}
