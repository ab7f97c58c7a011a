import { AdamW, type AdamWState } from '../engine/optimizer.ts';
import { isOutOfMemory } from '../engine/out-of-memory.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { DecoderConfig } from '../models/decoder-config.ts';
import { weightFeeds, type PolicyWeights } from '../models/policy-weights.ts';
import { allocateBlock, type ParameterBlock } from '../models/weights.ts';
import type { MicroBatch } from './micro-batches.ts';
import { LayerPass } from './layer-pass.ts';
import { availableMemory, wayOf, type Way } from './memory.ts';
import type { LossObjective, ObjectiveInputs, Pass, TokenResults } from './pass.ts';
import { tooLong } from './row-limit.ts';
import type { EngineOptions } from './sessions.ts';
import { WholePass } from './whole-pass.ts';

/** How micro-batches are run. auto: small ones as one graph, others layer by layer. */
export type Execution = 'auto' | Way;

export type { ObjectiveInputs, TokenResults };

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
  #fresh = true;
  #execution: Execution;
  #checkpointing: boolean | undefined;
  #fits = Infinity;
  #outOfMemory = 0;
  /** Bytes; measured once, so that a run does not change its ways by what else the machine does. */
  readonly #forActivations: number;
  readonly #whole: WholePass;
  readonly #layers: LayerPass;

  constructor(config: DecoderConfig, model: PolicyWeights, engine: EngineOptions, execution: Execution = 'auto') {
    this.config = config;
    this.weights = model.trainable;
    this.#model = model;
    this.#engine = engine;
    this.#gradients = allocateBlock(model.trainable.tensors);
    this.#execution = execution;
    this.#forActivations = (availableMemory() - 3 * this.weights.flat.byteLength) / 2;
    this.#whole = new WholePass(config, model.frozen, engine);
    this.#layers = new LayerPass(config, model.frozen, engine, { recompute: execution === 'recompute' });
  }

  /** The next gradients are the first. */
  zeroGradients(): void { this.#fresh = true; }

  /** Forward and backward; adds the gradients to those accumulated. Throws TrainerError `numeric` on a loss that is not finite, naming where it comes from. */
  async backward(batch: MicroBatch, objective: LossObjective, inputs: ObjectiveInputs): Promise<TokenResults> {
    const results = await this.#pass(batch).backward(batch, objective, inputs, weightFeeds(this.#model), this.#gradients, this.#fresh ? 'write' : 'add');
    this.#fresh = false;
    if (!Number.isFinite(results.loss)) throw notFinite(await this.#culprit(batch, results));
    return results;
  }

  /** Log-probabilities alone, with these weights or others in their place (a reference). */
  async logprobs(batch: MicroBatch, weights: ParameterBlock = this.weights): Promise<Float32Array> {
    return (await this.#pass(batch).forward(batch, weightFeeds(this.#model, weights))).logprob;
  }

  /**
   * `work` with micro-batches of at most `maxTokens` tokens; when memory runs out, from the start with half as many, and so on, here and in later calls.
   * `longest`: tokens of the longest row. Throws TrainerError `out_of_memory` when single rows do not fit.
   */
  async fitting<T>(maxTokens: number, longest: number, work: (maxTokens: number) => Promise<T>): Promise<T> {
    for (;;) {
      const tokens = Math.min(maxTokens, this.#fits);
      try {
        return await work(tokens);
      } catch (error) {
        if (!isOutOfMemory(error)) throw error;
        await this.release();
        this.#outOfMemory += 1;
        if (tokens <= longest && this.#layers.recompute && this.#execution === 'recompute') throw tooLong(this.config, longest, this.#model.frozen !== null, error);
        this.#execution = 'recompute';
        this.#layers.recompute = true;
        this.#fits = Math.max(1, Math.floor(tokens / 2));
      }
    }
  }

  /** How often memory ran out so far, and the micro-batches (tokens) that were used since. */
  get memory(): { out_of_memory: number; micro_batch_tokens: number } { return { out_of_memory: this.#outOfMemory, micro_batch_tokens: this.#fits }; }

  /** undefined: where activations would take much of the memory that is free. */
  set gradientCheckpointing(enabled: boolean | undefined) { this.#checkpointing = enabled; }

  /** One AdamW step with the accumulated gradients; returns their global norm before clipping. Throws TrainerError `numeric`, weights unchanged. */
  step(settings: StepSettings): number {
    const report = this.#adamw(settings).step(this.weights, this.#gradients, settings.lr);
    if (report.applied) return report.gradNorm;
    throw new TrainerError('numeric', `The gradient of ${report.nonFinite[0]} is not finite, so this update was not made. Lower the learning rate, or look for extreme rewards.`, {
      details: { tensors: report.nonFinite },
    });
  }

  /** Moments and step count so far; null before the first step. */
  get optimizerState(): AdamWState | null { return this.#optimizer?.adamw.state ?? this.#saved; }

  /** Continues from a saved state; null starts anew. */
  restoreOptimizer(state: AdamWState | null): void {
    this.#optimizer = null;
    this.#saved = state;
  }

  /** Everything a step changes. */
  snapshot(): { weights: Float32Array; optimizer: AdamWState | null } {
    return { weights: this.weights.flat.slice(), optimizer: structuredClone(this.optimizerState) };
  }

  rollback({ weights, optimizer }: ReturnType<Learner['snapshot']>): void {
    this.weights.flat.set(weights);
    this.restoreOptimizer(optimizer);
  }

  async release(): Promise<void> {
    await this.#whole.release();
    await this.#layers.release();
  }

  /** The first that holds a number that is not finite: a parameter, the result of a layer, or what follows. */
  async #culprit(batch: MicroBatch, { logprob }: TokenResults): Promise<string> {
    const finite = (values: Float32Array) => !values.some((value) => !Number.isFinite(value));
    const feeds = weightFeeds(this.#model);
    const parameter = Object.keys(feeds).find((name) => !finite(feeds[name]?.data as Float32Array));
    if (parameter) return `the weights ${parameter}`;
    const layer = await this.#layers.firstNonFinite(batch, feeds);
    if (layer !== null) return layer < 0 ? 'the embeddings' : `the result of model.layers.${layer}`;
    return finite(logprob) ? 'the loss itself: advantages, weights or log-probabilities of the sampler are too large' : 'the logits';
  }

  /** Masks of the logits are for the output layer on its own: they are as large as the logits. */
  #pass({ shape, allowed }: MicroBatch): Pass {
    const way = this.#execution === 'auto' ? wayOf(this.config, shape, this.#checkpointing, this.#forActivations) : this.#execution;
    this.#layers.recompute = way === 'recompute';
    return way === 'whole' && !allowed ? this.#whole : this.#layers;
  }

  #adamw({ betas, weight_decay, max_grad_norm }: StepSettings): AdamW {
    const key = JSON.stringify({ betas, weight_decay, max_grad_norm });
    if (this.#optimizer?.key === key) return this.#optimizer.adamw;
    const settings = { beta1: betas[0], beta2: betas[1], eps: 1e-8, weightDecay: weight_decay, maxGradNorm: max_grad_norm };
    const adamw = new AdamW(this.weights.tensors, settings);
    const state = this.optimizerState;
    if (state) adamw.load(state);
    this.#optimizer = { key, adamw };
    this.#saved = null;
    return adamw;
  }
}

function notFinite(where: string): TrainerError {
  return new TrainerError('numeric', `The loss is not finite, so this update was not made. The first that is not finite: ${where}. Lower the learning rate, or go back to an earlier checkpoint.`, { details: { first: where } });
}
