import { availableParallelism } from 'node:os';
import path from 'node:path';
import type { Provider } from '../protocol/providers.ts';
import { readConfig } from '../models/config.ts';
import { fetchModel, type FetchOptions } from '../models/hub/fetch-model.ts';
import type { ChatBackend } from '../protocol/chat.ts';
import type { DpoMetrics, ExampleSettings, Policy, PolicyInfo, PreferencePair, ScoredRow, SftMetrics, TrainRow, UpdateMetrics, UpdateSettings } from '../protocol/policy.ts';
import { PolicyBackend } from './chat-backend.ts';
import type { AdapterStart, LoraStart } from './messages.ts';
import { PolicyClient } from './policy-client.ts';
import { chooseProvider } from './provider/choose.ts';

export interface OpenPolicyOptions extends FetchOptions {
  /** Threads of the engine. Default: the cores this process may use. */
  threads?: number;
  /** Default: the fastest that computes right here, measured once for models of this width. */
  provider?: Provider | undefined;
  /** Trains low-rank factors beside the model, which stays as it is: new ones, or those of an adapter. Default: the model itself is trained. */
  lora?: LoraStart | AdapterStart | null;
  /** Seeds the requests that come without a seed, in order of arrival. Default: random. */
  seed?: number;
}

/**
 * Loads a Hugging Face model folder (config.json, model.safetensors, tokenizer.json), a GGUF file or a model of the hub (`hf:owner/name`) into a thread that samples and learns.
 * Throws TrainerError naming the file at fault, or what the provider lacks.
 */
export async function openPolicy(model: string, options: OpenPolicyOptions = {}): Promise<Policy & { chat: ChatBackend }> {
  const { threads = availableParallelism(), lora = null, seed } = options;
  const folder = path.resolve(await fetchModel(model, options));
  const { provider, reason: providerReason } = options.provider ? { provider: options.provider, reason: 'as asked for' } : await chooseProvider(await readConfig(folder), { threads, ...(options.signal ? { signal: options.signal } : {}) });
  const client = await PolicyClient.start({ folder, threads, provider, providerReason, lora });
  const chat = new PolicyBackend({ name: modelName(model), client, seed: seed ?? null });
  return new LocalPolicy(client, chat);
}

/** What agents send as "model": the last part of a path or of the hub's name, without a version and the ending of a GGUF file. */
function modelName(model: string): string { return path.basename(path.resolve(model)).replace(/@[^@]*$|\.gguf$/i, ''); }

class LocalPolicy implements Policy {
  readonly chat: ChatBackend;
  readonly #client: PolicyClient;
  #version = 0;

  constructor(client: PolicyClient, chat: ChatBackend) {
    this.#client = client;
    this.chat = chat;
  }

  get info(): PolicyInfo { return this.#client.info; }
  get version(): number { return this.#version; }

  async update(miniBatches: TrainRow[][], settings: UpdateSettings): Promise<UpdateMetrics> {
    const { metrics, version } = await this.#client.call('update', { miniBatches, settings });
    this.#version = version;
    return metrics;
  }

  async sft(rows: ScoredRow[], settings: ExampleSettings): Promise<SftMetrics> {
    const { metrics, version } = await this.#client.call('sft', { rows, settings });
    this.#version = version;
    return metrics;
  }

  async dpo(pairs: PreferencePair[], settings: ExampleSettings & { beta: number }): Promise<DpoMetrics> {
    const { metrics, version } = await this.#client.call('dpo', { pairs, settings });
    this.#version = version;
    return metrics;
  }

  logprobs(rows: ScoredRow[], weights: 'present' | 'reference' = 'present'): Promise<Float32Array[]> {
    return this.#client.call('logprobs', { rows, weights });
  }

  async setReference(): Promise<void> { await this.#client.call('setReference', null); }

  async adoptAverage(): Promise<void> { this.#version = (await this.#client.call('adoptAverage', null)).version; }

  async save(folder: string, { resumable }: { resumable: boolean }): Promise<void> {
    await this.#client.call('save', { folder: path.resolve(folder), resumable });
  }

  async restore(folder: string): Promise<void> {
    this.#version = (await this.#client.call('restore', { folder: path.resolve(folder) })).version;
  }

  close(): Promise<void> { return this.#client.close(); }
}
