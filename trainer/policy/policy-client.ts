import { Worker } from 'node:worker_threads';
import { TrainerError } from '../protocol/errors.ts';
import { fromPlain, type CallName, type ChatSample, type FromWorker, type PolicyCalls, type SampleMessage, type ToWorker, type WorkerOptions } from './messages.ts';
import { TokenReader, type TokenTable } from '../models/token-table.ts';
import type { PolicyInfo } from '../protocol/policy.ts';

/** The bundler gives the worker its own file beside the one this module ends up in. */
const workerFile = new URL(import.meta.url.endsWith('.ts') ? './worker-from-source.mjs' : './policy-worker.js', import.meta.url);

/** The trainer's end of the policy thread. */
export class PolicyClient {
  readonly info: PolicyInfo;
  /** Of the tokenizer that the thread has opened. */
  readonly tokens: TokenReader;
  readonly #worker: Worker;
  readonly #calls = new Map<number, { resolve: (output: unknown) => void; reject: (error: TrainerError) => void }>();
  readonly #samples = new Map<number, (message: SampleMessage) => void>();
  #nextId = 1;
  #ended: TrainerError | null = null;

  private constructor(worker: Worker, info: PolicyInfo, tokens: TokenTable) {
    this.#worker = worker;
    this.info = info;
    this.tokens = new TokenReader(tokens);
    worker.on('message', (message: FromWorker) => this.#receive(message));
    worker.on('error', (error) => this.#end(new TrainerError('internal', `The policy's thread failed: ${error.message}`, { cause: error })));
    worker.on('exit', () => this.#end(new TrainerError('internal', 'The policy has been closed.')));
  }

  /** Resolves when the model is loaded. Throws TrainerError when it cannot be used. */
  static async start(options: WorkerOptions): Promise<PolicyClient> {
    const worker = new Worker(workerFile, { workerData: options });
    const first = await new Promise<FromWorker>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', (error) => reject(new TrainerError('internal', `The policy's thread cannot start: ${error.message}`, { cause: error })));
      worker.once('exit', (code) => reject(new TrainerError('internal', `The policy's thread ended with code ${code} while starting.`)));
    });
    if (first.type === 'unusable') throw fromPlain(first.error);
    if (first.type !== 'ready') throw new TrainerError('internal', `The policy's thread said "${first.type}" before it was ready.`);
    return new PolicyClient(worker, first.info, first.tokens);
  }

  call<N extends CallName>(name: N, input: PolicyCalls[N]['input']): Promise<PolicyCalls[N]['output']> {
    if (this.#ended) return Promise.reject(this.#ended);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve: resolve as (output: unknown) => void, reject });
      this.#worker.postMessage({ type: 'call', id, name, input });
    });
  }

  /** Starts sampling; `onMessage` hears of the prompt, every token, last of `done`, `failed` or `invalid`. Returns a function that cancels. */
  sample(request: Omit<ChatSample, 'id'>, onMessage: (message: SampleMessage) => void): () => void {
    if (this.#ended) throw this.#ended;
    const id = this.#nextId++;
    this.#samples.set(id, onMessage);
    this.#worker.postMessage({ type: 'sample', request: { ...request, id } } satisfies ToWorker);
    return () => {
      if (this.#samples.delete(id)) this.#worker.postMessage({ type: 'cancel', id } satisfies ToWorker);
    };
  }

  async close(): Promise<void> {
    if (this.#ended) return;
    const exited = new Promise<void>((resolve) => this.#worker.once('exit', () => resolve()));
    await this.call('close', null);
    await exited;
  }

  #receive(message: FromWorker): void {
    if (message.type === 'samples') {
      for (const sample of message.samples) {
        const listener = this.#samples.get(sample.id);
        if (sample.type !== 'token' && sample.type !== 'prompt') this.#samples.delete(sample.id);
        listener?.(sample);
      }
    } else if (message.type === 'answer') this.#settle(message.id)?.resolve(message.output);
    else if (message.type === 'refused') this.#settle(message.id)?.reject(fromPlain(message.error));
    else if (message.type === 'unusable') this.#end(fromPlain(message.error));
  }

  #settle(id: number) {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    return call;
  }

  /** Everything still waiting learns that nothing will come. */
  #end(error: TrainerError): void {
    this.#ended ??= error;
    for (const { reject } of this.#calls.values()) reject(this.#ended);
    for (const [id, listener] of this.#samples) listener({ type: 'failed', id, error: { code: this.#ended.code, message: this.#ended.message } });
    this.#calls.clear();
    this.#samples.clear();
  }
}
