import { TrainerError } from '../protocol/errors.ts';
import { StopMatcher, type Detokenizer } from '../models/detokenizer.ts';
import type { DecodeModel, PrefilledPrompt } from './decode-model.ts';
import { PromptCache } from './prompt-cache.ts';
import { uniforms } from './random.ts';
import { mostLikely, pickToken, restrict, type PickedToken, type SamplingParameters, type TokenConstraint } from './sampling.ts';

export interface SampleRequest extends SamplingParameters {
  id: number;
  prompt: number[];
  max_tokens: number;
  seed: number;
  /** Text that ends the answer; the tokens that completed it are part of the response. */
  stop: string[];
  /** Alternatives to report per token. */
  top_logprobs: number;
  /** Log-probabilities are then those among the tokens it allows. */
  constraint?: TokenConstraint | null;
}

export interface SampledToken extends PickedToken { alternatives: PickedToken[] }

export type SampleEvent =
  | { type: 'token'; id: number; token: SampledToken }
  | { type: 'done'; id: number; finish: 'stop' | 'length' }
  | { type: 'failed'; id: number; error: TrainerError };

interface Active {
  request: SampleRequest;
  uniform: () => number;
  stops: { matcher: StopMatcher; detokenizer: Detokenizer } | null;
  generated: number;
  last: number;
}

/**
 * Continuous batching: requests join and leave between steps, those in progress fill the first rows of the batch.
 * A request's tokens depend on its prompt, parameters and seed, never on what runs beside it.
 */
export class Sampler {
  readonly #model: DecodeModel;
  readonly #stopIds: ReadonlySet<number>;
  readonly #detokenizer: () => Detokenizer;
  readonly #emit: (event: SampleEvent) => void;
  readonly #prompts = new PromptCache(64 * 2 ** 20);
  #waiting: SampleRequest[] = [];
  #active: Active[] = [];

  /** `stopIds`: every end-of-sequence id of the model. `emit` is called in the order things happen. */
  constructor(model: DecodeModel, stopIds: Iterable<number>, detokenizer: () => Detokenizer, emit: (event: SampleEvent) => void) {
    this.#model = model;
    this.#stopIds = new Set(stopIds);
    this.#detokenizer = detokenizer;
    this.#emit = emit;
  }

  get running(): boolean { return this.#active.length > 0; }
  get waiting(): boolean { return this.#waiting.length > 0; }

  submit(request: SampleRequest): void { this.#waiting.push(request); }

  /** Drops a request; nothing more is emitted for it. */
  cancel(id: number): void {
    this.#waiting = this.#waiting.filter((request) => request.id !== id);
    const slot = this.#active.findIndex(({ request }) => request.id === id);
    if (slot >= 0) this.#leave(slot);
  }

  /** Ends every request after a failure of the model itself. */
  failAll(error: TrainerError): void {
    for (const { id } of [...this.#active.map(({ request }) => request), ...this.#waiting]) this.#emit({ type: 'failed', id, error });
    this.#active = [];
    this.#waiting = [];
  }

  /** Fills free rows from the queue. The first token of each comes with it. */
  async admit(): Promise<void> {
    const joining = this.#waiting.splice(0, this.#model.slots - this.#active.length);
    if (joining.length === 0) return;
    for (const [i, prompt] of (await this.#prefilled(joining)).entries()) {
      const request = joining[i] as SampleRequest;
      const slot = this.#active.length;
      this.#active.push({
        request,
        uniform: uniforms(request.seed),
        stops: request.stop.length > 0 ? { matcher: new StopMatcher(request.stop), detokenizer: this.#detokenizer() } : null,
        generated: 0,
        last: -1,
      });
      this.#model.place(slot, prompt);
      if (!this.#draw(this.#active[slot] as Active, prompt.logits)) this.#leave(slot);
    }
  }

  /** One more token for every running request. */
  async step(): Promise<void> {
    const logits = await this.#model.step(this.#active.map(({ last }) => last));
    const { vocab } = this.#model.config;
    const ended = this.#active.map((active, slot) => !this.#draw(active, logits.subarray(slot * vocab, (slot + 1) * vocab)));
    // From the last row down: a leaving row is filled by one that has been looked at already.
    for (let slot = ended.length - 1; slot >= 0; slot--) if (ended[slot]) this.#leave(slot);
  }

  async weightsChanged(): Promise<void> {
    this.#prompts.clear();
    await this.#model.weightsChanged();
  }

  async #prefilled(requests: readonly SampleRequest[]): Promise<PrefilledPrompt[]> {
    const missing = new Map<string, number[]>();
    const keys = requests.map(({ prompt }) => prompt.join());
    keys.forEach((key, i) => { if (!this.#prompts.get(key)) missing.set(key, (requests[i] as SampleRequest).prompt); });
    const fresh = await this.#model.prefill([...missing.values()]);
    const results = new Map([...missing.keys()].map((key, i) => [key, fresh[i] as PrefilledPrompt]));
    const found = keys.map((key) => results.get(key) ?? this.#prompts.get(key) as PrefilledPrompt);
    for (const [key, prompt] of results) this.#prompts.set(key, prompt);
    return found;
  }

  /** Samples the next token of a request. False when the request is over. */
  #draw(active: Active, logits: Float32Array): boolean {
    const { request, stops } = active;
    const { constraint } = request;
    let picked: PickedToken;
    let scores = logits;
    try {
      if (constraint) scores = restrict(logits, constraint.allowed());
      picked = pickToken(scores, request, active.uniform());
      constraint?.accept(picked.token);
    } catch (error) {
      if (!(error instanceof TrainerError)) throw error;
      this.#emit({ type: 'failed', id: request.id, error });
      return false;
    }
    active.last = picked.token;
    active.generated += 1;
    const alternatives = request.top_logprobs > 0 ? mostLikely(scores, request.temperature, request.top_logprobs) : [];
    this.#emit({ type: 'token', id: request.id, token: { ...picked, alternatives } });
    stops?.matcher.push(stops.detokenizer.push(picked.token));
    const stopped = this.#stopIds.has(picked.token) || stops?.matcher.stopped === true || constraint?.complete === true;
    const full = active.generated >= request.max_tokens || request.prompt.length + active.generated >= this.#model.config.contextLength;
    if (stopped || full) this.#emit({ type: 'done', id: request.id, finish: stopped ? 'stop' : 'length' });
    return !stopped && !full;
  }

  #leave(slot: number): void {
    const last = this.#active.pop() as Active;
    if (slot === this.#active.length) return;
    this.#model.move(this.#active.length, slot);
    this.#active[slot] = last;
  }
}
