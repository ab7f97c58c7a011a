import { wrap, type Tensor } from '../engine/tensor.ts';
import { pastKeyInput, pastValueInput } from '../models/decode-graph.ts';
import type { DecoderConfig } from '../models/decoder-config.ts';

const granularity = 64; // ONNX Runtime sums a softmax in strides of at most 64: rows of whole strides have the same bits at any capacity

/** Keys and values of the running requests: per layer [slots, kvHeads, capacity, headDim], of which each slot uses its first `lengths[slot]` positions. */
export class KvCache {
  readonly slots: number;
  /** Tokens in the cache, per slot. */
  readonly lengths: Int32Array;
  readonly #config: Pick<DecoderConfig, 'layers' | 'kvHeads' | 'headDim'>;
  readonly #least: number;
  readonly #fine: boolean;
  #capacity = 0;
  /** Keys and values of layer 0, of layer 1, … */
  #blocks: Float32Array[] = [];
  #feeds: { rows: string; tensors: Record<string, Tensor> } = { rows: '', tensors: {} };

  /** `least`: positions to begin with. `fine`: grows little by little; otherwise by powers of two, where each capacity costs a compilation. */
  constructor(config: Pick<DecoderConfig, 'layers' | 'kvHeads' | 'headDim'>, slots: number, least: number, fine: boolean) {
    this.slots = slots;
    this.lengths = new Int32Array(slots);
    this.#config = config;
    this.#least = least;
    this.#fine = fine;
  }

  /** Positions per row. */
  get capacity(): number { return this.#capacity; }

  /** Makes room for `length` tokens per row, keeping what is cached; while nothing is cached it may become smaller. */
  reserve(length: number): void {
    const needed = Math.max(this.#least, whole(length));
    const empty = this.lengths.every((n) => n === 0);
    if (needed <= this.#capacity && !(empty && this.#capacity > 4 * needed)) return;
    const [old, capacity] = [this.#capacity, this.#fine ? whole(empty ? needed : Math.max(needed, this.#capacity * 1.125)) : 2 ** Math.ceil(Math.log2(Math.max(needed, 128)))];
    const { layers, kvHeads, headDim } = this.#config;
    for (let i = 0; i < 2 * layers; i++) {
      const [source, grown] = [this.#blocks[i], new Float32Array(this.slots * kvHeads * capacity * headDim)];
      for (let row = 0; source && row < this.slots * kvHeads; row++) {
        const used = this.lengths[Math.floor(row / kvHeads)] as number;
        grown.set(source.subarray(row * old * headDim, (row * old + used) * headDim), row * capacity * headDim);
      }
      this.#blocks[i] = grown;
    }
    this.#capacity = capacity;
    this.#feeds = { rows: '', tensors: {} };
  }

  /** The rows `first` … `first + batch - 1` as inputs of a graph, without a copy. */
  rows(first: number, batch: number): Record<string, Tensor> {
    const rows = `${first} ${batch}`;
    if (this.#feeds.rows !== rows) {
      const { kvHeads, headDim } = this.#config;
      const shape = [batch, kvHeads, this.#capacity, headDim];
      const part = (block: Float32Array) => wrap('float32', shape, block.subarray(this.#at(first, 0, 0), this.#at(first + batch, 0, 0)));
      this.#feeds = { rows, tensors: Object.fromEntries(this.#blocks.map((block, i) => [(i % 2 === 0 ? pastKeyInput : pastValueInput)(i >> 1), part(block)])) };
    }
    return this.#feeds.tensors;
  }

  /** Adds `counts[i]` tokens to the row `first + i`, from keys and values [B, kvHeads, S, headDim] of each layer (key, value, key, …). */
  append(first: number, counts: readonly number[], fresh: readonly Float32Array[], tokens: number): void {
    const { kvHeads, headDim } = this.#config;
    counts.forEach((count, row) => {
      const slot = first + row;
      for (const [i, block] of this.#blocks.entries()) {
        for (let head = 0; head < kvHeads; head++) {
          const from = (row * kvHeads + head) * tokens * headDim;
          block.set((fresh[i] as Float32Array).subarray(from, from + count * headDim), this.#at(slot, head, this.lengths[slot] as number));
        }
      }
      this.lengths[slot] = (this.lengths[slot] as number) + count;
    });
  }

  /** Copy of the tokens from `start` to the row's end: per layer keys, then values, [kvHeads, n, headDim]. */
  read(slot: number, start: number): Float32Array {
    const { kvHeads, headDim } = this.#config;
    const end = this.lengths[slot] as number;
    const size = (end - start) * headDim;
    const copy = new Float32Array(this.#blocks.length * kvHeads * size);
    this.#blocks.forEach((block, i) => {
      for (let head = 0; head < kvHeads; head++) copy.set(block.subarray(this.#at(slot, head, start), this.#at(slot, head, end)), (i * kvHeads + head) * size);
    });
    return copy;
  }

  /** Adds the `count` tokens of a copy to a row. Room must have been reserved. */
  write(slot: number, copy: Float32Array, count: number): void {
    const { kvHeads, headDim } = this.#config;
    const [at, size] = [this.lengths[slot] as number, count * headDim];
    this.#blocks.forEach((block, i) => {
      for (let head = 0; head < kvHeads; head++) block.set(copy.subarray((i * kvHeads + head) * size, (i * kvHeads + head + 1) * size), this.#at(slot, head, at));
    });
    this.lengths[slot] = at + count;
  }

  /** Moves the row of a slot to another one, which leaves the first empty. */
  move(from: number, to: number): void {
    const { kvHeads, headDim } = this.#config;
    const length = this.lengths[from] as number;
    for (const block of this.#blocks) {
      for (let head = 0; head < kvHeads; head++) block.copyWithin(this.#at(to, head, 0), this.#at(from, head, 0), this.#at(from, head, 0) + length * headDim);
    }
    this.lengths[to] = length;
    this.lengths[from] = 0;
  }

  /** Empties a row. `damaged`: it may hold what is not finite, which would reach others through a mask (0 · NaN). */
  clear(slot: number, { damaged = false } = {}): void {
    this.lengths[slot] = 0;
    if (damaged) for (const block of this.#blocks) block.fill(0, this.#at(slot, 0, 0), this.#at(slot + 1, 0, 0));
  }

  #at(slot: number, head: number, position: number): number {
    const { kvHeads, headDim } = this.#config;
    return ((slot * kvHeads + head) * this.#capacity + position) * headDim;
  }
}

function whole(length: number): number { return Math.ceil(length / granularity) * granularity; }
