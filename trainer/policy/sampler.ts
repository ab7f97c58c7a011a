import { TrainerError } from '../protocol/errors.ts';
import { StopMatcher, type Detokenizer } from '../models/detokenizer.ts';
import type { DecodeModel } from './decode-model.ts';
import { Prefill, type Prompt } from './prefill.ts';
import { uniforms } from './random.ts';
import { distribution, inverseTemperature, mostLikely, pickToken, restrict, type Distribution, type PickedToken, type SamplingParameters, type TokenConstraint } from './sampling.ts';

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
  /** `cached`: tokens of the prompt that were not computed for this request. */
  | { type: 'done'; id: number; finish: 'stop' | 'length'; cached: number }
  | { type: 'failed'; id: number; error: TrainerError };

interface Active {
  request: SampleRequest;
  uniform: () => number;
  stops: { matcher: StopMatcher; detokenizer: Detokenizer } | null;
  prompt: Prompt;
  generated: number;
  last: number;
  /** Whether its last logits were. */
  finite: boolean;
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
  readonly #prefill: Prefill;
  #waiting: SampleRequest[] = [];
  #active: Active[] = [];

  /** `stopIds`: every end-of-sequence id of the model. `emit` is called in the order things happen. `cacheBytes`: for prompts kept to be continued. */
  constructor(model: DecodeModel, stopIds: Iterable<number>, detokenizer: () => Detokenizer, emit: (event: SampleEvent) => void, cacheBytes = 2 ** 28) {
    this.#model = model;
    this.#stopIds = new Set(stopIds);
    this.#detokenizer = detokenizer;
    this.#emit = emit;
    this.#prefill = new Prefill(model, cacheBytes);
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
    for (let slot = this.#active.length - 1; slot >= 0; slot--) this.#leave(slot);
    this.#waiting = [];
  }

  /** Gives free rows to waiting requests, first come, first served. */
  admit(): void {
    for (const request of this.#waiting.splice(0, this.#model.slots - this.#active.length)) {
      this.#active.push({
        request,
        uniform: uniforms(request.seed),
        stops: request.stop.length > 0 ? { matcher: new StopMatcher(request.stop), detokenizer: this.#detokenizer() } : null,
        prompt: this.#prefill.begin(request.prompt),
        generated: 0,
        last: -1,
        finite: false,
      });
    }
  }

  /** One more token for every running request whose prompt is complete, and prompts of others are brought forward: neither waits for the other. */
  async step(): Promise<void> {
    await this.#prefill.advance(this.#active.map(({ prompt }) => prompt));
    this.#drawAll(({ generated, prompt, request }) => (generated === 0 && prompt.logits ? distribution(prompt.logits, request.temperature) : null));
    const rows = this.#active.findLastIndex(({ generated }) => generated > 0) + 1;
    if (rows === 0) return;
    // A row whose prompt is incomplete is computed with the others; what it yields is put nowhere.
    const fed = this.#active.slice(0, rows).map(({ generated, last }) => (generated > 0 ? last : null));
    const following = await this.#model.step(fed, this.#active.slice(0, rows).map(({ request }) => inverseTemperature(request.temperature)));
    const { vocab } = this.#model.config;
    const part = (values: Float32Array, slot: number) => values.subarray(slot * vocab, (slot + 1) * vocab);
    this.#drawAll((_, slot) => (slot < rows && fed[slot] !== null ? { logits: part(following.logits, slot), weights: part(following.probabilities, slot) } : null));
  }

  /** To be called before the weights change, or after: what was made of the old ones is dropped. */
  async weightsChanged(): Promise<void> {
    this.#prefill.clear();
    await this.#model.weightsChanged();
  }

  /** A token for each request that has a distribution. */
  #drawAll(distributionOf: (active: Active, slot: number) => Distribution | null): void {
    const ended = this.#active.map((active, slot) => {
      const from = distributionOf(active, slot);
      return from !== null && !this.#draw(active, from);
    });
    // From the last row down: a leaving row is filled by one that has been looked at already.
    for (let slot = ended.length - 1; slot >= 0; slot--) if (ended[slot]) this.#leave(slot);
  }

  /** Samples the next token of a request. False when the request is over. */
  #draw(active: Active, whole: Distribution): boolean {
    const { request, stops } = active;
    const { constraint } = request;
    let picked: PickedToken;
    let from = whole;
    try {
      if (constraint) from = distribution(restrict(whole.logits, constraint.allowed()), request.temperature);
      picked = pickToken(from, request, active.uniform());
      constraint?.accept(picked.token);
    } catch (error) {
      if (!(error instanceof TrainerError)) throw error;
      active.finite = false;
      this.#emit({ type: 'failed', id: request.id, error });
      return false;
    }
    active.last = picked.token;
    active.generated += 1;
    active.finite = true;
    const alternatives = request.top_logprobs > 0 ? mostLikely(from, request.temperature, request.top_logprobs) : [];
    this.#emit({ type: 'token', id: request.id, token: { ...picked, alternatives } });
    stops?.matcher.push(stops.detokenizer.push(picked.token));
    const stopped = this.#stopIds.has(picked.token) || stops?.matcher.stopped === true || constraint?.complete === true;
    const full = active.generated >= request.max_tokens || request.prompt.length + active.generated >= this.#model.config.contextLength;
    if (stopped || full) this.#emit({ type: 'done', id: request.id, finish: stopped ? 'stop' : 'length', cached: active.prompt.cached });
    return !stopped && !full;
  }

  #leave(slot: number): void {
    this.#model.cache.clear(slot, { damaged: !(this.#active[slot] as Active).finite });
    const last = this.#active.pop() as Active;
    if (slot === this.#active.length) return;
    this.#model.cache.move(this.#active.length, slot);
    this.#active[slot] = last;
  }
}
