import { totalmem } from 'node:os';
import { selfTest } from '../engine/self-test.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { DpoMetrics, ExampleSettings, PolicyInfo, PreferencePair, ScoredRow, SftMetrics, TrainRow, UpdateMetrics, UpdateSettings } from '../protocol/policy.ts';
import { readVocabulary } from '../grammar/vocabulary.ts';
import type { DecoderConfig } from '../models/decoder-config.ts';
import type { PolicyWeights } from '../models/policy-weights.ts';
import type { TokenTable } from '../models/token-table.ts';
import { openTokenizer, type ModelTokenizer } from '../models/tokenizer.ts';
import { allocateBlock, type ParameterBlock } from '../models/weights.ts';
import { parameterCount } from '../models/parameters.ts';
import { withAllowedTokens } from './allowed-tokens.ts';
import { chatPrompt } from './chat-prompt.ts';
import { readCheckpoint, writeCheckpoint } from './checkpoint.ts';
import { DecodeModel } from './decode-model.ts';
import { dpoStep } from './dpo.ts';
import { grpoUpdate } from './grpo-update.ts';
import { requireReference, rowLogprobs } from './row-logprobs.ts';
import { Learner } from './learner.ts';
import { loadPolicy } from './load-policy.ts';
import { movedAverage } from './weight-average.ts';
import { fromPlain, toPlain, type ChatSample, type WorkerOptions } from './messages.ts';
import { OutputGrammars } from './output-grammar.ts';
import type { EngineOptions } from './sessions.ts';
import { supervisedStep } from './supervised.ts';
import { Sampler, type SampleEvent } from './sampler.ts';
import { Samplers } from './samplers.ts';
import type { TokenConstraint } from './sampling.ts';

export type HostEvent = SampleEvent | { type: 'prompt'; id: number; prompt: number[]; max_tokens: number } | { type: 'invalid'; id: number; error: TrainerError };

const scoringTokens = 4096; // per forward pass when only log-probabilities are wanted
const maxSlots = 32;

/** One model with one set of weights in memory: the sampler draws with it, the learner changes it, or with LoRA the factors beside it. */
export class PolicyHost {
  readonly info: PolicyInfo;
  readonly sampler: Samplers;
  version = 0;
  readonly #folder: string;
  readonly #weights: PolicyWeights;
  readonly #learner: Learner;
  readonly #tokenizer: ModelTokenizer;
  readonly #grammars: OutputGrammars;
  readonly #emit: (event: HostEvent) => void;
  #reference: ParameterBlock | null = null;
  #average: ParameterBlock | null = null;

  private constructor(folder: string, info: PolicyInfo, weights: PolicyWeights, learner: Learner, engine: EngineOptions, tokenizer: ModelTokenizer, stopIds: number[], emit: (event: HostEvent) => void) {
    this.#folder = folder;
    this.info = info;
    this.#weights = weights;
    this.#learner = learner;
    this.#tokenizer = tokenizer;
    this.#emit = emit;
    this.#grammars = new OutputGrammars(once(() => readVocabulary(learner.config.vocab, (id) => tokenizer.printedBytesOf(id), stopIds)));
    const slots = slotsFor(learner.config, totalmem());
    this.sampler = new Samplers((dtype) => {
      const model = new DecodeModel(learner.config, weights, engine, slots, dtype);
      return { model, sampler: new Sampler(model, stopIds, () => tokenizer.detokenizer(), emit) };
    });
  }

  /** Throws TrainerError when the folder or the provider cannot be used. */
  static async open({ folder, provider, providerReason, threads, lora }: WorkerOptions, emit: (event: HostEvent) => void): Promise<PolicyHost> {
    await selfTest({ provider, threads });
    const { config, weights } = await loadPolicy(folder, provider, lora);
    const tokenizer = await openTokenizer(folder, config.vocab);
    const stopIds = tokenizer.eosId === null ? config.eosIds : [...config.eosIds, tokenizer.eosId];
    const engine = { provider, threads };
    const info = {
      model_type: config.family, parameters: parameterCount(config), trainable_parameters: weights.trainable.flat.length, vocab_size: config.vocab, context_length: config.contextLength, provider, provider_reason: providerReason, threads,
    };
    return new PolicyHost(folder, info, weights, new Learner(config, weights, engine), engine, tokenizer, stopIds, emit);
  }

  get tokens(): TokenTable { return this.#tokenizer.table(); }

  /** Renders the conversation and queues it for sampling. */
  submit({ messages, tools, max_tokens: wanted, format, dtype, ...request }: ChatSample): void {
    const { id } = request;
    const { contextLength } = this.#learner.config;
    let prompt: number[];
    let constraint: TokenConstraint | null;
    try {
      prompt = chatPrompt(this.#tokenizer, { messages, tools }, contextLength);
      constraint = format && this.#grammars.constraint(format);
    } catch (error) {
      if (error instanceof TrainerError && error.code === 'bad_input') this.#emit({ type: 'invalid', id, error });
      else this.#emit({ type: 'failed', id, error: fromPlain(toPlain(error)) });
      return;
    }
    const max_tokens = Math.min(wanted ?? Infinity, contextLength - prompt.length);
    this.#emit({ type: 'prompt', id, prompt, max_tokens });
    this.sampler.submit({ ...request, prompt, max_tokens, constraint }, dtype);
  }

  async update(miniBatches: TrainRow[][], settings: UpdateSettings): Promise<UpdateMetrics> {
    return this.#learned(settings, () => grpoUpdate(this.#learner, miniBatches.map((rows) => withAllowedTokens(rows, this.#grammars)), settings, this.#reference));
  }

  async sft(rows: ScoredRow[], settings: ExampleSettings): Promise<SftMetrics> {
    return this.#learned(settings, () => supervisedStep(this.#learner, rows, settings));
  }

  async dpo(pairs: PreferencePair[], settings: ExampleSettings & { beta: number }): Promise<DpoMetrics> {
    return this.#learned(settings, () => dpoStep(this.#learner, pairs, settings, requireReference(this.#reference)));
  }

  /** The sampler's copy of the weights is dropped first: it is not in memory beside what learning needs. */
  async #learned<Metrics>({ ema_decay = 0 }: { ema_decay?: number }, learn: () => Promise<Metrics>): Promise<Metrics> {
    await this.sampler.weightsChanged();
    const metrics = await learn();
    if (ema_decay > 0) this.#average = movedAverage(this.#average, this.#learner.weights, ema_decay);
    this.version += 1;
    return metrics;
  }

  async logprobs(rows: ScoredRow[], weights: 'present' | 'reference'): Promise<Float32Array[]> {
    return rowLogprobs(this.#learner, withAllowedTokens(rows, this.#grammars), scoringTokens, weights === 'present' ? this.#learner.weights : requireReference(this.#reference));
  }

  setReference(): void {
    this.#reference ??= allocateBlock(this.#learner.weights.tensors);
    this.#reference.flat.set(this.#learner.weights.flat);
  }

  async adoptAverage(): Promise<void> {
    if (!this.#average) return;
    this.#learner.weights.flat.set(this.#average.flat);
    this.version += 1;
    await this.sampler.weightsChanged();
  }

  save(folder: string, resumable: boolean): Promise<void> {
    return writeCheckpoint(folder, this.#folder, this.#weights, resumable ? { version: this.version, optimizer: this.#learner.optimizerState, average: this.#average } : null);
  }

  async restore(folder: string): Promise<void> {
    const { weights, version, optimizer, average } = await readCheckpoint(folder, this.#learner.config, this.#weights.frozen);
    this.#learner.weights.flat.set(weights.flat);
    this.#learner.restoreOptimizer(optimizer);
    this.#average = average;
    this.version = version;
    await this.sampler.weightsChanged();
  }

  async release(): Promise<void> {
    await this.sampler.release();
    await this.#learner.release();
  }
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

/** Answers that may be sampled at a time: their keys and values, of 4096 tokens each, take an eighth of the machine's memory (bytes) at most, or 1 GiB. */
export function slotsFor({ layers, kvHeads, headDim, contextLength }: DecoderConfig, memory: number): number {
  const bytesPerSlot = 2 * layers * kvHeads * headDim * Math.min(contextLength, 4096) * Float32Array.BYTES_PER_ELEMENT;
  return Math.max(1, Math.min(maxSlots, Math.floor(Math.max(2 ** 30, memory / 8) / bytesPerSlot)));
}
