import { compileForAnySize, takesAnySize, type Executable } from '../engine/executor.ts';
import { wrap, type Tensor } from '../engine/tensor.ts';
import type { DecoderConfig } from '../models/decoder-config.ts';
import { decodeExamples, decodeGraph, keyOutput, valueOutput } from '../models/decode-graph.ts';
import { parameterCount } from '../models/parameters.ts';
import { samplingFeeds, type PolicyWeights } from '../models/policy-weights.ts';
import { quantizedModel } from '../models/quantized-model.ts';
import type { SamplingDtype } from '../protocol/rollout.ts';
import { DecodeInputs } from './decode-inputs.ts';
import { KvCache } from './kv-cache.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { Provider } from '../protocol/providers.ts';
import { SessionCache, type EngineOptions } from './sessions.ts';

const prefillWork = 7e10; // parameters times tokens that a step of running requests may be held up by, of the order of half a second

/**
 * Runs the decoder for sampling, over a cache of `slots` rows. What a row yields depends on nothing but its tokens and where they were cut into chunks: the kernels
 * give a row the same bits in any batch and at any capacity of the cache. On the CPU one compiled graph, with one copy of the weights, serves all sizes.
 */
export class DecodeModel {
  readonly config: DecoderConfig;
  readonly slots: number;
  /** Most tokens that are added to a row at once. Texts have the same bits if they are cut at multiples of it. */
  readonly chunk: number;
  /** Most rows of one `extend`. */
  readonly chunksPerRun: number;
  readonly cache: KvCache;
  readonly #weights: PolicyWeights;
  readonly #engine: EngineOptions;
  readonly #quantized: boolean;
  readonly #anySize: boolean;
  readonly #inputs: DecodeInputs;
  readonly #leastRows: number;
  readonly #sessions: SessionCache;
  #session: Promise<Executable> | null = null;

  /** `dtype` int8: it computes with a quantised copy of the model, made when the weights have changed; its first run throws TrainerError `environment` where the provider has none of that, `bad_input` where the model has no such copy. */
  constructor(config: DecoderConfig, weights: PolicyWeights, engine: EngineOptions, slots: number, dtype: SamplingDtype = 'float32') {
    const { heads, kvHeads, headDim } = config;
    this.config = config;
    this.slots = slots;
    this.#weights = weights;
    this.#engine = engine;
    this.#quantized = dtype === 'int8';
    this.#anySize = takesAnySize(engine.provider);
    this.#sessions = new SessionCache(engine, 24);
    this.#inputs = new DecodeInputs(config);
    // A product that ONNX Runtime divides among threads by columns is summed in other strides. So that no product of attention is: as many of them
    // as there are threads, at least as many rows as columns in a chunk, and many columns for heads so wide that their own length takes two strides.
    // Products with weights that are fed are not packed: one row alone is summed in another order (LoRA's factors), and so are large matrices by few rows
    // or by as many as they have columns.
    const fed = !this.#quantized && (weights.frozen?.base.type === 'float16' || weights.frozen?.base.type === 'int8');
    this.#leastRows = Math.max(fed ? 8 : weights.frozen ? 2 : 1, Math.ceil(engine.threads / kvHeads));
    this.chunksPerRun = fed ? 1 : slots;
    this.chunk = Math.max(64, Math.ceil(headDim * kvHeads / heads / 64) * 64);
    this.cache = new KvCache(config, Math.max(slots, this.#leastRows), headDim > 128 ? 128 * engine.threads : 64, this.#anySize);
  }

  /**
   * Chunks of prompts to compute between two steps of running requests: few of a large model, more of a small one. Many at a time are computed together,
   * and the sooner prompts are complete, the more rows share the steps that follow.
   */
  get chunksPerStep(): number {
    return Math.max(1, Math.floor(prefillWork / parameterCount(this.config) / this.chunk));
  }

  /** To be called after the weights have changed, or before. Compiled graphs hold a model that is trained itself; factors of LoRA are fed at each run. */
  async weightsChanged(): Promise<void> { if (!this.#weights.frozen) await this.release(); }

  async release(): Promise<void> {
    const session = this.#session;
    this.#session = null;
    await (await session?.catch(() => null))?.release(); // whoever asked for one that could not be made has been told
    await this.#sessions.release();
  }

  /**
   * Adds one token to each of the rows 0 … tokens.length - 1, or none (null). Gives what follows: logits [n, V], and the probabilities [n, V] with logits multiplied by each row's
   * `inverseTemperature` (1 where none is given). Those of a row without a token mean nothing.
   */
  async step(tokens: readonly (number | null)[], inverseTemperatures: readonly number[] = []): Promise<{ logits: Float32Array; probabilities: Float32Array }> {
    const n = tokens.length;
    const rows = Math.max(n, this.#leastRows);
    const padded = this.#anySize ? rows : rows <= 8 ? Math.min(8, this.cache.slots) : this.cache.slots;
    const { logits, probabilities } = await this.#run(0, tokens.map((token) => (token === null ? [] : [token])), padded, 1, tokens.map((_, row) => row), inverseTemperatures);
    const count = n * this.config.vocab;
    return { logits: logits.subarray(0, count), probabilities: probabilities.subarray(0, count) };
  }

  /** Adds up to `chunk` tokens to each of the rows `first` … Gives the logits [V] after the last token of those rows that want them. */
  async extend(first: number, parts: readonly (readonly number[])[], wanted: readonly boolean[]): Promise<(Float32Array | null)[]> {
    const last = parts.flatMap(({ length }, row) => (wanted[row] ? [row * this.chunk + length - 1] : []));
    const { logits } = await this.#run(first, parts, parts.length, this.chunk, last);
    const { vocab } = this.config;
    let at = 0;
    return parts.map((_, row) => (wanted[row] ? logits.slice(at * vocab, ++at * vocab) : null));
  }

  async #run(first: number, parts: readonly (readonly number[])[], batch: number, tokens: number, last: readonly number[], inverseTemperatures: readonly number[] = []): Promise<{ logits: Float32Array; probabilities: Float32Array }> {
    const { cache, config } = this;
    cache.reserve(Math.max(...Array.from({ length: batch }, (_, row) => (cache.lengths[first + row] as number) + (parts[row]?.length ?? 0))));
    // Padding repeats the row's last token: one whose embedding is damaged does not get in that way.
    const ids = Int32Array.from({ length: batch * tokens }, (_, i) => {
      const part = parts[Math.floor(i / tokens)] ?? [];
      return part[Math.min(i % tokens, part.length - 1)] ?? 0;
    });
    const wanted = !this.#anySize || (this.#weights.frozen && tokens === 1) ? batch : last.length === 1 && this.#weights.frozen ? 2 : last.length;
    const rows = [...last, ...Array<number>(wanted - last.length).fill(last[0] ?? 0)];
    const feeds: Record<string, Tensor> = {
      ...samplingFeeds(this.#weights, this.#quantized),
      ...cache.rows(first, batch),
      ...this.#inputs.masks(cache.lengths.subarray(first, first + batch), cache.capacity, tokens),
      tokens: wrap('int32', [batch * tokens], ids),
      last: wrap('int32', [rows.length], Int32Array.from(rows)),
      inverse_temperature: wrap('float32', [rows.length, 1], Float32Array.from(rows, (_, i) => inverseTemperatures[i] ?? 1)),
    };
    const result = await (await this.#compiled(feeds, batch, tokens, rows.length)).run(feeds);
    const fresh = Array.from({ length: 2 * config.layers }, (_, i) => result[(i % 2 === 0 ? keyOutput : valueOutput)(i >> 1)]?.data as Float32Array);
    cache.append(first, parts.map(({ length }) => length), fresh, tokens);
    return { logits: result['logits']?.data as Float32Array, probabilities: result['probabilities']?.data as Float32Array };
  }

  async #compileForAnySize(): Promise<Executable> {
    const quantized = this.#quantized ? await quantizedModel(this.#weights, this.#engine) : null;
    return compileForAnySize(decodeExamples(this.config, this.#weights, quantized), this.#engine);
  }

  #compiled(feeds: Record<string, Tensor>, batch: number, tokens: number, logits: number): Promise<Executable> {
    const { config } = this;
    if (this.#quantized) requireQuantized(this.#engine.provider);
    if (this.#anySize) return (this.#session ??= this.#compileForAnySize());
    const { capacity } = this.cache;
    const sizes = { batch, tokens, capacity, logits, ...this.#inputs.sizes(capacity, tokens) };
    return this.#sessions.get(`${batch} ${tokens} ${capacity}`, () => decodeGraph(config, this.#weights, null, sizes));
  }
}

/** Throws TrainerError `environment` unless a provider can sample with a quantised copy of the model. */
function requireQuantized(provider: Provider): void {
  if (provider !== 'cpu') throw new TrainerError('environment', `sampling.dtype "int8" cannot be used with the provider "${provider}", but with "cpu". Use "float32", or that provider.`);
}
