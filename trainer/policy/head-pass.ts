import type { Tensors } from '../engine/executor.ts';
import { wrap, type Tensor } from '../engine/tensor.ts';
import type { DecoderConfig } from '../models/decoder-config.ts';
import { gradientOf, sumOf } from '../models/gradient-names.ts';
import { headGraph, headParameters, lossGraph, notAllowed, type HeadObjective } from '../models/head-graphs.ts';
import type { PolicyObjective } from '../models/policy-loss.ts';
import type { Frozen } from '../models/policy-weights.ts';
import type { ParameterBlock } from '../models/weights.ts';
import type { MicroBatch } from './micro-batches.ts';
import { objectiveFeeds, tokenFeeds, type LossObjective, type ObjectiveInputs, type TokenResults } from './pass.ts';
import { SessionCache, type EngineOptions } from './sessions.ts';

/** Elements of a tensor of logits; the output layer holds about four such tensors. */
export const defaultLogits = 2 ** 24;

/** Output layer and loss over a few of the trained tokens at a time, so that logits of all of them never exist (forward and backward). */
export class HeadPass {
  readonly #config: DecoderConfig;
  readonly #frozen: Frozen | null;
  readonly #sessions: SessionCache;
  readonly #logitsAtATime: number;
  #mask = new Float32Array(0);

  constructor(config: DecoderConfig, frozen: Frozen | null, engine: EngineOptions, logitsAtATime = defaultLogits) {
    this.#config = config;
    this.#frozen = frozen;
    this.#sessions = new SessionCache(engine, 4);
    this.#logitsAtATime = logitsAtATime;
  }

  logprobs(batch: MicroBatch, hidden: Float32Array, weights: Tensors): Promise<TokenResults> {
    return this.#run(batch, { kind: 'logprobs' }, { perToken: {}, scalars: {} }, hidden, weights, null);
  }

  /** Adds the gradient by `hidden` to the rows of `dHidden` that predict trained tokens. */
  async backward(batch: MicroBatch, objective: LossObjective, inputs: ObjectiveInputs, hidden: Float32Array, dHidden: Float32Array, weights: Tensors, gradients: ParameterBlock, mode: 'write' | 'add'): Promise<TokenResults> {
    const target = { dHidden, gradients, mode };
    if (objective.kind === 'supervised' || objective.level === 'token') return this.#run(batch, objective, inputs, hidden, weights, target);
    // The loss of a token depends on its whole row: first all log-probabilities, then what to multiply their gradients with.
    const token = await this.logprobs(batch, hidden, weights);
    const { loss, ...coefficients } = await this.#coefficients(batch, objective, inputs, token);
    await this.#run(batch, { kind: 'linear' }, { perToken: coefficients, scalars: {} }, hidden, weights, target);
    return { ...token, loss };
  }

  release(): Promise<void> {
    this.#mask = new Float32Array(0);
    return this.#sessions.release();
  }

  async #run(batch: MicroBatch, objective: HeadObjective, inputs: ObjectiveInputs, hidden: Float32Array, weights: Tensors,
    target: { dHidden: Float32Array; gradients: ParameterBlock; mode: 'write' | 'add' } | null): Promise<TokenResults> {
    const { hidden: width } = this.#config;
    const names = headParameters(this.#config);
    const { origins: { length: total }, position } = batch;
    const { count, parts } = chunks(batch.shape.trained, total, this.#logitsAtATime / this.#config.vocab);
    const own = target ? [...target.gradients.tensors].filter(([name]) => names.includes(name)) : [];
    const accumulate = target !== null && (target.mode === 'add' || parts > 1);
    if (accumulate && target.mode === 'write') for (const [, { data }] of own) data.fill(0);
    const masked = batch.allowed !== null;
    const session = await this.#sessions.get(JSON.stringify({ count, objective, accumulate, masked }), () => headGraph(this.#config, this.#frozen, count, objective, { accumulate, masked }));

    const results: TokenResults = { loss: target ? 0 : NaN, logprob: new Float32Array(total), entropy: new Float32Array(total) };
    const rows = new Float32Array(count * width);
    for (let start = 0; start < total; start += count) {
      const end = Math.min(total, start + count);
      const each = (visit: (row: number, at: number) => void) => { for (let n = start; n < end; n++) visit((n - start) * width, (position[n] as number) * width); };
      each((row, at) => rows.set(hidden.subarray(at, at + width), row));
      const result = await session.run({
        ...(batch.allowed ? { allowed: this.#additiveMask(batch.allowed, start, count) } : {}),
        hidden: wrap('float32', [count, width], rows),
        ...Object.fromEntries([...session.inputs.keys()].flatMap((name) => (weights[name] ? [[name, weights[name]]] : []))),
        ...tokenFeeds(batch, start, count), ...objectiveFeeds(inputs, start, count),
        ...(accumulate ? Object.fromEntries(own.map(([name, tensor]) => [sumOf(name), tensor])) : {}),
      }, Object.fromEntries(own.map(([name, tensor]) => [gradientOf(name), tensor])));
      for (const name of ['logprob', 'entropy'] as const) results[name].set(floats(result, name).subarray(0, end - start), start);
      if (!target) continue;
      results.loss += Number(result['loss']?.data[0]);
      const gradient = floats(result, gradientOf('hidden'));
      each((row, at) => { for (let i = 0; i < width; i++) target.dHidden[at + i] = (target.dHidden[at + i] as number) + (gradient[row + i] as number); });
    }
    return results;
  }

  /** [count, V]: 0 where a token is allowed. */
  #additiveMask(allowed: readonly (Uint32Array | undefined)[], start: number, count: number): Tensor<'float32'> {
    const { vocab } = this.#config;
    if (this.#mask.length < count * vocab) this.#mask = new Float32Array(count * vocab);
    const mask = this.#mask.subarray(0, count * vocab);
    for (let n = 0; n < count; n++) {
      const row = mask.subarray(n * vocab, (n + 1) * vocab);
      const bits = allowed[start + n];
      if (!bits) row.fill(0);
      else for (let token = 0; token < vocab; token++) row[token] = ((bits[token >> 5] as number) >>> (token & 31)) & 1 ? 0 : notAllowed;
    }
    return wrap('float32', [count, vocab], mask);
  }

  async #coefficients({ shape: { trained }, sequence, origins }: MicroBatch, objective: PolicyObjective, inputs: ObjectiveInputs, token: TokenResults) {
    const session = await this.#sessions.get(JSON.stringify({ trained, objective }), () => lossGraph(trained, objective));
    const result = await session.run({
      ...objectiveFeeds({ ...inputs, perToken: { ...inputs.perToken, logprob: token.logprob, entropy: token.entropy } }, 0, trained),
      sequence: wrap('int32', [trained], sequence),
    });
    const take = (name: string) => floats(result, gradientOf(name)).slice(0, origins.length);
    return { loss: Number(result['loss']?.data[0]), logprob_weight: take('logprob'), entropy_weight: take('entropy') };
  }
}

/** Parts of equal size, so that all of them run in one compiled graph. */
function chunks(trained: number, total: number, limit: number): { count: number; parts: number } {
  const most = Math.max(16, Math.floor(limit / 16) * 16);
  if (trained <= most) return { count: trained, parts: 1 };
  const parts = Math.ceil(total / most);
  return { count: Math.ceil(total / parts / 16) * 16, parts };
}

function floats(result: Tensors, name: string): Float32Array { return result[name]?.data as Float32Array; }
