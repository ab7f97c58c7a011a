import type { Tensors } from '../engine/executor.ts';
import { wrap } from '../engine/tensor.ts';
import type { DecoderConfig } from '../models/decoder-config.ts';
import { gradientOf } from '../models/gradient-names.ts';
import { trainingGraph, type MicroBatchShape, type Objective } from '../models/training-graph.ts';
import type { Frozen } from '../models/policy-weights.ts';
import type { ParameterBlock } from '../models/weights.ts';
import type { MicroBatch } from './micro-batches.ts';
import { objectiveFeeds, placeFeeds, tokenFeeds, type LossObjective, type ObjectiveInputs, type Pass, type TokenResults } from './pass.ts';
import { SessionCache, type EngineOptions } from './sessions.ts';

/** The whole model as one graph: the fastest way for small models. */
export class WholePass implements Pass {
  readonly #config: DecoderConfig;
  readonly #frozen: Frozen | null;
  readonly #sessions: SessionCache;

  constructor(config: DecoderConfig, frozen: Frozen | null, engine: EngineOptions) {
    this.#config = config;
    this.#frozen = frozen;
    this.#sessions = new SessionCache(engine, 8);
  }

  async forward(batch: MicroBatch, weights: Tensors): Promise<TokenResults> {
    const session = await this.#session(batch.shape, { kind: 'logprobs' });
    return tokenResults(batch, await session.run(feeds(batch, weights)));
  }

  async backward(batch: MicroBatch, objective: LossObjective, inputs: ObjectiveInputs, weights: Tensors, gradients: ParameterBlock, mode: 'write' | 'add'): Promise<TokenResults> {
    const session = await this.#session(batch.shape, objective);
    const sequence: Tensors = objective.kind === 'grpo' && objective.level === 'sequence' ? { sequence: wrap('int32', [batch.shape.trained], batch.sequence) } : {};
    const into = mode === 'write' ? Object.fromEntries([...gradients.tensors].map(([name, tensor]) => [gradientOf(name), tensor])) : {};
    const result = await session.run({ ...feeds(batch, weights), ...sequence, ...objectiveFeeds(inputs, 0, batch.shape.trained) }, into);
    if (mode === 'add') for (const [name, { data }] of gradients.tensors) accumulate(data, result[gradientOf(name)]?.data as Float32Array);
    return { ...tokenResults(batch, result), loss: Number(result['loss']?.data[0]) };
  }

  release(): Promise<void> { return this.#sessions.release(); }

  #session(shape: MicroBatchShape, objective: Objective) {
    return this.#sessions.get(JSON.stringify({ shape, objective }), () => trainingGraph(this.#config, shape, objective, this.#frozen));
  }
}

function feeds(batch: MicroBatch, weights: Tensors): Tensors {
  const { batch: rows, length, trained } = batch.shape;
  return {
    ...weights,
    tokens: wrap('int32', [rows, length], batch.tokens),
    position: wrap('int32', [trained], batch.position),
    ...placeFeeds(batch),
    ...tokenFeeds(batch, 0, trained),
  };
}

function tokenResults({ origins }: MicroBatch, result: Tensors): TokenResults {
  const take = (name: string) => (result[name]?.data as Float32Array).slice(0, origins.length);
  return { loss: NaN, logprob: take('logprob'), entropy: take('entropy') };
}

function accumulate(sum: Float32Array, term: Float32Array): void {
  for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] as number) + (term[i] as number);
}
