import { wrap, type Tensor } from '../engine/tensor.ts';
import type { DecoderConfig } from '../models/decoder-config.ts';
import { kindInputs, layerKind, type DecodeSizes, type LayerKind } from '../models/decode-graph.ts';
import { hiddenScore } from '../models/attention.ts';
import { ropeAngles } from '../models/rope.ts';

/** What a decode graph is fed besides tokens, weights and cache: positions, and for each kind of layer rotary tables and masks. */
export class DecodeInputs {
  readonly #config: DecoderConfig;
  readonly #group: number;
  readonly #kinds: { kind: LayerKind; window: number }[];
  #tables: { positions: number; tensors: Record<string, Tensor> } = { positions: 0, tensors: {} };
  #own: { tokens: number; tensors: Record<string, Tensor> } = { tokens: 0, tensors: {} };

  constructor(config: DecoderConfig) {
    this.#config = config;
    this.#group = config.heads / config.kvHeads;
    const used = new Set(Array.from({ length: config.layers }, (_, layer) => layerKind(config, layer)));
    this.#kinds = [...used].map((kind) => ({ kind, window: kind === 'sliding' ? config.sliding?.size ?? Infinity : Infinity }));
  }

  /** Sizes of these inputs. */
  sizes(capacity: number, tokens: number): Pick<DecodeSizes, 'positions' | 'maskRows'> {
    const windowed = this.#kinds.some(({ window }) => window !== Infinity);
    return { positions: capacity + tokens, maskRows: { past: windowed ? this.#group * tokens : 1, own: this.#group * tokens } };
  }

  /** For rows with `lengths` tokens in a cache of `capacity` positions that get `tokens` more. */
  masks(lengths: Int32Array, capacity: number, tokens: number): Record<string, Tensor> {
    const position = new Int32Array(lengths.length * tokens);
    for (let i = 0; i < position.length; i++) position[i] = (lengths[Math.floor(i / tokens)] as number) + (i % tokens);
    const { positions, maskRows } = this.sizes(capacity, tokens);
    const feeds: Record<string, Tensor> = { ...this.#tablesFor(positions), ...this.#ownFor(tokens), position: wrap('int32', [lengths.length, tokens], position) };
    for (const { kind, window } of this.#kinds) {
      const mask = new Float32Array(lengths.length * maskRows.past * capacity).fill(hiddenScore);
      lengths.forEach((length, row) => {
        for (let query = 0; query < maskRows.past; query++) {
          const start = (row * maskRows.past + query) * capacity;
          const seenFrom = Math.max(0, length + (query % tokens) - window + 1);
          mask.fill(0, start + Math.min(seenFrom, length), start + length);
        }
      });
      feeds[kindInputs(kind).past] = wrap('float32', [lengths.length, 1, maskRows.past, capacity], mask);
    }
    return feeds;
  }

  #tablesFor(positions: number): Record<string, Tensor> {
    if (this.#tables.positions !== positions) {
      const { rope, sliding, headDim } = this.#config;
      const tensors = this.#kinds.flatMap(({ kind }) => {
        const { cos, sin } = ropeAngles(headDim, kind === 'sliding' ? sliding?.rope ?? rope : rope, positions);
        return [[kindInputs(kind).cos, cos], [kindInputs(kind).sin, sin]] as const;
      });
      this.#tables = { positions, tensors: Object.fromEntries(tensors) };
    }
    return this.#tables.tensors;
  }

  /** Among the new tokens, each sees those up to itself that are in its window. */
  #ownFor(tokens: number): Record<string, Tensor> {
    if (this.#own.tokens !== tokens) {
      const rows = this.#group * tokens;
      const tensors = this.#kinds.map(({ kind, window }) => {
        const mask = Float32Array.from({ length: rows * tokens }, (_, i) => {
          const back = (Math.floor(i / tokens) % tokens) - (i % tokens);
          return back >= 0 && back < window ? 0 : hiddenScore;
        });
        return [kindInputs(kind).own, wrap('float32', [1, 1, rows, tokens], mask)] as const;
      });
      this.#own = { tokens, tensors: Object.fromEntries(tensors) };
    }
    return this.#own.tensors;
  }
}
