import { createAdamW, type AdamW, type AdamWState } from '../engine/optimizer.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { DecoderConfig } from '../models/decoder-config.ts';
import { weightFeeds, type PolicyWeights } from '../models/policy-weights.ts';
import { allocateBlock, type ParameterBlock } from '../models/weights.ts';
import type { MicroBatch } from './micro-batches.ts';
import { LayerPass } from './layer-pass.ts';
import { wholeGraphBytes, wholeGraphLimit } from './memory.ts';
import type { LossObjective, ObjectiveInputs, Pass, TokenResults } from './pass.ts';
import type { EngineOptions } from './sessions.ts';
import { WholePass } from './whole-pass.ts';

/** How micro-batches are run. auto: small ones as one graph, others layer by layer; recompute: layer by layer, each layer forwards twice. */
export type Execution = 'auto' | 'layers' | 'recompute';

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
  readonly #execution: Execution;
  readonly #whole: WholePass;
  readonly #layers: LayerPass;

  constructor(config: DecoderConfig, model: PolicyWeights, engine: EngineOptions, execution: Execution = 'auto') {
    this.config = config;
    this.weights = model.trainable;
    this.#model = model;
    this.#engine = engine;
    this.#gradients = allocateBlock(model.trainable.tensors);
    this.#execution = execution;
    this.#whole = new WholePass(config, model.frozen, engine);
    this.#layers = new LayerPass(config, model.frozen, engine, execution === 'recompute');
  }

  /** The next gradients are the first. */
  zeroGradients(): void { this.#fresh = true; }

  /** Forward and backward; adds the gradients to those accumulated. */
  async backward(batch: MicroBatch, objective: LossObjective, inputs: ObjectiveInputs): Promise<TokenResults> {
    const results = await this.#pass(batch).backward(batch, objective, inputs, weightFeeds(this.#model), this.#gradients, this.#fresh ? 'write' : 'add');
    this.#fresh = false;
    return results;
  }

  /** Log-probabilities alone, with these weights or others in their place (a reference). */
  async logprobs(batch: MicroBatch, weights: ParameterBlock = this.weights): Promise<Float32Array> {
    return (await this.#pass(batch).forward(batch, weightFeeds(this.#model, weights))).logprob;
  }

  /** One AdamW step with the accumulated gradients; returns their global norm before clipping. Throws TrainerError `numeric`, weights unchanged. */
  async step(settings: StepSettings): Promise<number> {
    const adamw = await this.#adamw(settings);
    const report = await adamw.step(this.weights, this.#gradients, settings.lr);
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
    await this.#whole.release();
    await this.#layers.release();
    await this.#optimizer?.adamw.release();
  }

  #pass({ shape }: MicroBatch): Pass {
    return this.#execution === 'auto' && wholeGraphBytes(this.config, shape) <= wholeGraphLimit ? this.#whole : this.#layers;
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
}
