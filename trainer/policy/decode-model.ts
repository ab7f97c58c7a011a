import { wrap, type Tensor } from '../engine/tensor.ts';
import type { DecoderConfig } from '../models/decoder-config.ts';
import { keyOutput, pastKeyInput, pastValueInput, prefillGraph, stepGraph, valueOutput } from '../models/decode-graph.ts';
import { samplingFeeds, type PolicyWeights } from '../models/policy-weights.ts';
import { lengthBucket } from './micro-batches.ts';
import { SessionCache, type EngineOptions } from './sessions.ts';

/** Keys and values of a prompt, [kvHeads, length, headDim] per layer, and the logits [V] after its last token. */
export interface PrefilledPrompt { length: number; keys: Float32Array[]; values: Float32Array[]; logits: Float32Array }

const prefillRows = 4; // prompts per run; one or two are run alone
const hidden = -1e9;

/**
 * Runs the decoder for sampling, over a cache of `slots` rows of which the first `n` are in use. What a row yields depends on nothing but the row:
 * prompts are padded to a length that is a function of their own, and the kernels give a row the same bits in any batch.
 */
export class DecodeModel {
  readonly config: DecoderConfig;
  readonly slots: number;
  readonly #weights: PolicyWeights;
  readonly #sessions: SessionCache;
  #capacity = 0;
  #keys: Float32Array[] = [];
  #values: Float32Array[] = [];
  #visible = new Float32Array(0);
  /** Tokens in the cache, per slot. */
  readonly #lengths: Int32Array;

  constructor(config: DecoderConfig, weights: PolicyWeights, engine: EngineOptions, slots: number) {
    this.config = config;
    this.slots = slots;
    this.#weights = weights;
    this.#sessions = new SessionCache(engine, 24);
    this.#lengths = new Int32Array(slots);
  }

  /** To be called after the weights have changed. The compiled graphs hold a model that is trained itself; factors of LoRA are fed at each run. */
  async weightsChanged(): Promise<void> { if (!this.#weights.frozen) await this.#sessions.release(); }

  /** Runs prompts of any lengths; the results are in the order given. */
  async prefill(prompts: readonly (readonly number[])[]): Promise<PrefilledPrompt[]> {
    const results: PrefilledPrompt[] = [];
    const byLength = new Map<number, number[]>();
    prompts.forEach(({ length }, i) => byLength.set(promptBucket(length), [...byLength.get(promptBucket(length)) ?? [], i]));
    for (const [length, members] of byLength) {
      for (let start = 0; start < members.length;) {
        const batch = members.length - start > 2 ? prefillRows : 1;
        const part = members.slice(start, start + batch);
        const run = await this.#runPrefill(part.map((i) => prompts[i] as readonly number[]), batch, length);
        part.forEach((i, row) => { results[i] = run[row] as PrefilledPrompt; });
        start += part.length;
      }
    }
    return results;
  }

  /** Puts a prompt into the cache row of a slot. */
  place(slot: number, prompt: PrefilledPrompt): void {
    this.#reserve(prompt.length + 1);
    const { kvHeads, headDim } = this.config;
    for (let layer = 0; layer < this.config.layers; layer++) {
      for (let head = 0; head < kvHeads; head++) {
        const [from, to] = [head * prompt.length * headDim, this.#offset(slot, head)];
        (this.#keys[layer] as Float32Array).set((prompt.keys[layer] as Float32Array).subarray(from, from + prompt.length * headDim), to);
        (this.#values[layer] as Float32Array).set((prompt.values[layer] as Float32Array).subarray(from, from + prompt.length * headDim), to);
      }
    }
    this.#setLength(slot, prompt.length);
  }

  /** Moves the row of a slot to another one. */
  move(from: number, to: number): void {
    const size = this.#offset(1, 0);
    for (const block of [...this.#keys, ...this.#values]) block.copyWithin(to * size, from * size, (from + 1) * size);
    this.#setLength(to, this.#lengths[from] as number);
  }

  /** Feeds one token to each of the slots 0 … tokens.length - 1, which joins their cache. Gives the logits [n, V] that follow. */
  async step(tokens: readonly number[]): Promise<Float32Array> {
    this.#reserve(Math.max(...tokens.map((_, slot) => this.#lengths[slot] as number)) + 1);
    const { layers, kvHeads, headDim, vocab } = this.config;
    const batch = tokens.length <= 8 ? Math.min(8, this.slots) : this.slots;
    const session = await this.#sessions.get(`step ${batch} ${this.#capacity}`, () => stepGraph(this.config, this.#weights, batch, this.#capacity));
    const padded = new Int32Array(batch);
    padded.set(tokens);
    const feeds: Record<string, Tensor> = {
      ...samplingFeeds(this.#weights),
      tokens: wrap('int32', [batch, 1], padded),
      position: wrap('int32', [batch, 1], this.#lengths.slice(0, batch)),
      visible: wrap('float32', [batch, this.#capacity], this.#visible.subarray(0, batch * this.#capacity)),
    };
    const shape = [batch, kvHeads, this.#capacity, headDim];
    for (let layer = 0; layer < layers; layer++) {
      feeds[pastKeyInput(layer)] = wrap('float32', shape, (this.#keys[layer] as Float32Array).subarray(0, batch * this.#offset(1, 0)));
      feeds[pastValueInput(layer)] = wrap('float32', shape, (this.#values[layer] as Float32Array).subarray(0, batch * this.#offset(1, 0)));
    }
    const result = await session.run(feeds);
    for (let layer = 0; layer < layers; layer++) {
      this.#append(this.#keys[layer] as Float32Array, result[keyOutput(layer)]?.data as Float32Array, tokens.length);
      this.#append(this.#values[layer] as Float32Array, result[valueOutput(layer)]?.data as Float32Array, tokens.length);
    }
    for (let slot = 0; slot < tokens.length; slot++) this.#setLength(slot, (this.#lengths[slot] as number) + 1);
    return (result['logits']?.data as Float32Array).subarray(0, tokens.length * vocab);
  }

  async release(): Promise<void> { await this.#sessions.release(); }

  async #runPrefill(prompts: readonly (readonly number[])[], batch: number, length: number): Promise<PrefilledPrompt[]> {
    const { layers, kvHeads, headDim, vocab } = this.config;
    const tokens = new Int32Array(batch * length);
    const last = new Int32Array(batch);
    prompts.forEach((prompt, row) => {
      tokens.set(prompt, row * length);
      last[row] = row * length + prompt.length - 1;
    });
    const session = await this.#sessions.get(`prefill ${batch} ${length}`, () => prefillGraph(this.config, this.#weights, batch, length));
    const feeds = { ...samplingFeeds(this.#weights), tokens: wrap('int32', [batch, length], tokens), last: wrap('int32', [batch], last) };
    const result = await session.run(feeds);
    return prompts.map((prompt, row) => {
      const cut = (name: string) => {
        const source = result[name]?.data as Float32Array;
        const part = new Float32Array(kvHeads * prompt.length * headDim);
        for (let head = 0; head < kvHeads; head++) {
          const from = (row * kvHeads + head) * length * headDim;
          part.set(source.subarray(from, from + prompt.length * headDim), head * prompt.length * headDim);
        }
        return part;
      };
      const each = (name: (layer: number) => string) => Array.from({ length: layers }, (_, layer) => cut(name(layer)));
      const logits = (result['logits']?.data as Float32Array).slice(row * vocab, (row + 1) * vocab);
      return { length: prompt.length, keys: each(keyOutput), values: each(valueOutput), logits };
    });
  }

  /** Makes room for `length` tokens per row, keeping what is cached. */
  #reserve(length: number): void {
    if (length <= this.#capacity) return;
    const old = this.#capacity;
    const capacity = Math.min(cacheBucket(length), cacheBucket(this.config.contextLength));
    const { kvHeads, headDim, layers } = this.config;
    const grow = (source: Float32Array | undefined) => {
      const grown = new Float32Array(this.slots * kvHeads * capacity * headDim);
      for (let row = 0; source && row < this.slots * kvHeads; row++) {
        grown.set(source.subarray(row * old * headDim, (row + 1) * old * headDim), row * capacity * headDim);
      }
      return grown;
    };
    this.#keys = Array.from({ length: layers }, (_, layer) => grow(this.#keys[layer]));
    this.#values = Array.from({ length: layers }, (_, layer) => grow(this.#values[layer]));
    this.#capacity = capacity;
    this.#visible = new Float32Array(this.slots * capacity);
    for (let slot = 0; slot < this.slots; slot++) this.#setLength(slot, this.#lengths[slot] as number);
  }

  #append(cache: Float32Array, fresh: Float32Array, rows: number): void {
    const { kvHeads, headDim } = this.config;
    for (let slot = 0; slot < rows; slot++) {
      for (let head = 0; head < kvHeads; head++) {
        const from = (slot * kvHeads + head) * headDim;
        cache.set(fresh.subarray(from, from + headDim), this.#offset(slot, head) + (this.#lengths[slot] as number) * headDim);
      }
    }
  }

  #setLength(slot: number, length: number): void {
    this.#lengths[slot] = length;
    const row = slot * this.#capacity;
    this.#visible.fill(0, row, row + length);
    this.#visible.fill(hidden, row + length, row + this.#capacity);
  }

  #offset(slot: number, head: number): number {
    const { kvHeads, headDim } = this.config;
    return (slot * kvHeads + head) * this.#capacity * headDim;
  }
}

/** Prompts are padded to multiples of 64 or more: a compiled graph each, to be made anew after every update. */
function promptBucket(length: number): number { return Math.ceil(lengthBucket(length) / 64) * 64; }

/** Cache lengths: 128, 256, then 1.5 and 2 times a power of two. */
function cacheBucket(length: number): number {
  const power = 2 ** Math.ceil(Math.log2(Math.max(length, 128)));
  return length <= power * 0.75 && power > 256 ? power * 0.75 : power;
}
