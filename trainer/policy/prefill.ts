import type { DecodeModel } from './decode-model.ts';
import { blockKey, PrefixCache, type Block } from './prefix-cache.ts';

/** A prompt on its way into a row of the cache. */
export interface Prompt {
  readonly tokens: readonly number[];
  /** How many of them are in the row. */
  done: number;
  /** How many of those were not computed for this request. */
  cached: number;
  /** The block that ends where the row ends; 'lost' once it cannot be kept. */
  block: Block | null | 'lost';
  /** Order in which prompts take turns. */
  turn: number;
  /** After the last token [V]; null until the prompt is complete. */
  logits: Float32Array | null;
}

/**
 * Brings prompts into rows of the cache, a chunk at a time, those that begin like an earlier one by copying. Chunks end at multiples of the model's chunk size, and
 * only whole chunks and whole prompts are kept: keys and values have the same bits, copied or computed. Those of sampled tokens are not kept, since a step of one token
 * sums in another order than a chunk.
 */
export class Prefill {
  readonly #model: DecodeModel;
  readonly #cache: PrefixCache;
  #turns = 0;

  /** `cacheBytes`: for prompts kept. */
  constructor(model: DecodeModel, cacheBytes: number) {
    this.#model = model;
    this.#cache = new PrefixCache(cacheBytes);
  }

  begin(tokens: readonly number[]): Prompt { return { tokens, done: 0, cached: 0, block: null, turn: this.#turns++, logits: null }; }

  /** Brings the prompts forward that are incomplete, as far as is known or the time of a step allows. `prompts`: by row. */
  async advance(prompts: readonly Prompt[]): Promise<void> {
    let chunks = this.#model.chunksPerStep;
    for (;;) {
      prompts.forEach((prompt, slot) => this.#copyKnown(slot, prompt));
      if (chunks === 0) return;
      const computed = await this.#compute(prompts, chunks);
      if (computed === 0) return;
      chunks -= computed;
    }
  }

  #copyKnown(slot: number, prompt: Prompt): void {
    while (!prompt.logits && prompt.block !== 'lost') {
      const part = this.#next(prompt);
      const block = this.#cache.find(prompt.block, part);
      const last = prompt.done + part.length === prompt.tokens.length;
      if (!block || (last && !block.logits)) return;
      this.#model.cache.reserve(prompt.done + part.length);
      this.#model.cache.write(slot, block.data, part.length);
      prompt.done += part.length;
      prompt.cached += part.length;
      prompt.block = block;
      if (last) prompt.logits = block.logits;
    }
  }

  /** One more chunk of the incomplete prompt that has waited longest, and of those in the rows after it, up to `most`. Gives how many. */
  async #compute(prompts: readonly Prompt[], most: number): Promise<number> {
    const first = prompts.reduce((best, { logits, turn }, slot) => (!logits && (best < 0 || turn < (prompts[best] as Prompt).turn) ? slot : best), -1);
    if (first < 0) return 0;
    const chosen: Prompt[] = [];
    const keys = new Set<string>();
    for (const prompt of prompts.slice(first, first + Math.min(most, this.#model.chunksPerRun))) {
      if (prompt.logits) break;
      // One of a group that asks the same is enough: the others copy what it computes.
      const key = prompt.block === 'lost' ? `lost ${prompt.turn}` : blockKey(prompt.block, this.#next(prompt));
      if (keys.has(key)) break;
      keys.add(key);
      chosen.push(prompt);
    }
    const parts = chosen.map((prompt) => this.#next(prompt));
    const ends = chosen.map(({ done, tokens }, i) => done + (parts[i] as number[]).length === tokens.length);
    const logits = await this.#model.extend(first, parts, ends);
    chosen.forEach((prompt, i) => {
      const [part, result] = [parts[i] as number[], logits[i] ?? null];
      if (prompt.block !== 'lost') prompt.block = this.#cache.add(prompt.block, part, this.#model.cache.read(first + i, prompt.done), result) ?? 'lost';
      prompt.done += part.length;
      prompt.turn = this.#turns++;
      prompt.logits = result;
    });
    return chosen.length;
  }

  /** To be called when the weights change. */
  clear(): void { this.#cache.clear(); }

  #next({ tokens, done }: Prompt): number[] { return tokens.slice(done, done + this.#model.chunk); }
}
