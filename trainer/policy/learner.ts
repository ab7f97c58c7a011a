import type { Executable, Tensors } from '../engine/executor.ts';
import { createAdamW, type AdamW, type AdamWState } from '../engine/optimizer.ts';
import { wrap } from '../engine/tensor.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { DecoderConfig } from '../models/decoder-config.ts';
import { gradientOf, trainingGraph, type MicroBatchShape, type Objective } from '../models/training-graph.ts';
import { weightFeeds, type PolicyWeights } from '../models/policy-weights.ts';
import { allocateBlock, type ParameterBlock } from '../models/weights.ts';
import type { MicroBatch } from './micro-batches.ts';
import { SessionCache, type EngineOptions } from './sessions.ts';

/** Per-token values a micro-batch's objective needs besides the micro-batch itself, and its scalar settings; names as in `trainingGraph`. */
export interface ObjectiveInputs { perToken: Record<string, Float32Array>; scalars: Record<string, number> }

/** Results of one forward pass for the real trained tokens of a micro-batch, in the order of `origins`. */
export interface TokenResults { loss: number; logprob: Float32Array; entropy: Float32Array }

export interface StepSettings { lr: number; betas: [number, number]; weight_decay: number; max_grad_norm: number }

/** A model with its optimiser: accumulates gradients over micro-batches, then steps. */
export class Learner {
  readonly config: DecoderConfig;
  /** What is trained. */
  readonly weights: ParameterBlock;
  readonly #model: PolicyWeights;
  readonly #engine: EngineOptions;
  #optimizer: { key: string; adamw: AdamW } | null = null;
  #saved: AdamWState | null = null;
  readonly #gradients: ParameterBlock;
  readonly #sessions: SessionCache;

  constructor(config: DecoderConfig, model: PolicyWeights, engine: EngineOptions) {
    this.config = config;
    this.weights = model.trainable;
    this.#model = model;
    this.#engine = engine;
    this.#gradients = allocateBlock(model.trainable.tensors);
    this.#sessions = new SessionCache(engine, 8);
  }

  zeroGradients(): void { this.#gradients.flat.fill(0); }

  /** Forward and backward; adds the gradients to those accumulated. */
  async backward(batch: MicroBatch, objective: Exclude<Objective, { kind: 'logprobs' }>, inputs: ObjectiveInputs): Promise<TokenResults> {
    const session = await this.#session(batch.shape, objective);
    const sequence: Tensors = objective.kind === 'grpo' && objective.level === 'sequence' ? { sequence: wrap('int32', [batch.shape.trained], batch.sequence) } : {};
    const result = await session.run({ ...this.#feeds(batch, this.weights), ...sequence, ...objectiveFeeds(batch.shape.trained, inputs) });
    for (const [name, { data }] of this.#gradients.tensors) accumulate(data, result[gradientOf(name)]?.data as Float32Array);
    return { ...tokenResults(batch, result), loss: Number(result['loss']?.data[0]) };
  }

  /** Log-probabilities alone, with these weights or others in their place (a reference). */
  async logprobs(batch: MicroBatch, weights: ParameterBlock = this.weights): Promise<Float32Array> {
    const session = await this.#session(batch.shape, { kind: 'logprobs' });
    return tokenResults(batch, await session.run(this.#feeds(batch, weights))).logprob;
  }

  /** One AdamW step with the accumulated gradients; returns their global norm before clipping. Throws TrainerError `numeric`, weights unchanged. */
  async step(settings: StepSettings): Promise<number> {
    const adamw = await this.#adamw(settings);
    const report = await adamw.step(Object.fromEntries(this.weights.tensors), Object.fromEntries(this.#gradients.tensors), settings.lr);
    if (report.applied) return report.gradNorm;
    throw new TrainerError('numeric', `The gradient of ${report.nonFinite[0]} is not finite, so this update was not made. Lower the learning rate, or look for extreme rewards.`, {
      details: { tensors: report.nonFinite },
    });
  }

  /** Moments and step count so far; null before the first step. */
  get optimizerState(): AdamWState | null { return this.#optimizer?.adamw.state ?? this.#saved; }

  /** Continues from a saved state; null starts anew. */
  async restoreOptimizer(state: AdamWState | null): Promise<void> {
    await this.#optimizer?.adamw.release();
    this.#optimizer = null;
    this.#saved = state;
  }

  /** Everything a step changes. */
  snapshot(): { weights: Float32Array; optimizer: AdamWState | null } {
    return { weights: this.weights.flat.slice(), optimizer: structuredClone(this.optimizerState) };
  }

  async rollback({ weights, optimizer }: ReturnType<Learner['snapshot']>): Promise<void> {
    this.weights.flat.set(weights);
    await this.restoreOptimizer(optimizer);
  }

  async release(): Promise<void> {
    await this.#sessions.release();
    await this.#optimizer?.adamw.release();
  }

  async #adamw({ betas, weight_decay, max_grad_norm }: StepSettings): Promise<AdamW> {
    const key = JSON.stringify({ betas, weight_decay, max_grad_norm });
    if (this.#optimizer?.key === key) return this.#optimizer.adamw;
    const settings = { beta1: betas[0], beta2: betas[1], eps: 1e-8, weightDecay: weight_decay, maxGradNorm: max_grad_norm };
    const adamw = await createAdamW(this.weights.tensors, settings, this.#engine);
    const state = this.optimizerState;
    if (state) adamw.load(state);
    await this.#optimizer?.adamw.release();
    this.#optimizer = { key, adamw };
    this.#saved = null;
    return adamw;
  }

  #session(shape: MicroBatchShape, objective: Objective): Promise<Executable> {
    return this.#sessions.get(JSON.stringify({ shape, objective }), () => trainingGraph(this.config, shape, objective, this.#model.frozen));
  }

  #feeds({ shape: { batch, length, trained }, tokens, position, target, inverseTemperature }: MicroBatch, weights: ParameterBlock): Tensors {
    return {
      ...weightFeeds(this.#model, weights),
      tokens: wrap('int32', [batch, length], tokens),
      position: wrap('int32', [trained], position),
      target: wrap('int32', [trained], target),
      inv_temperature: wrap('float32', [trained], inverseTemperature),
    };
  }
}

function objectiveFeeds(trained: number, { perToken, scalars }: ObjectiveInputs): Tensors {
  return Object.fromEntries([
    ...Object.entries(perToken).map(([name, values]) => {
      const padded = new Float32Array(trained); // weight 0 beyond the real tokens
      padded.set(values);
      return [name, wrap('float32', [trained], padded)] as const;
    }),
    ...Object.entries(scalars).map(([name, value]) => [name, wrap('float32', [], Float32Array.of(value))] as const),
  ]);
}

function tokenResults({ origins }: MicroBatch, result: Tensors): TokenResults {
  const take = (name: string) => (result[name]?.data as Float32Array).slice(0, origins.length);
  return { loss: NaN, logprob: take('logprob'), entropy: take('entropy') };
}

function accumulate(sum: Float32Array, term: Float32Array): void {
  for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] as number) + (term[i] as number);
}
