import type { TrainerError } from '../protocol/errors.ts';
import { samplingDtypes, type SamplingDtype } from '../protocol/rollout.ts';
import type { DecodeModel } from './decode-model.ts';
import type { Sampler, SampleRequest } from './sampler.ts';

interface Made { sampler: Sampler; model: DecodeModel }

/** A sampler for each type of numbers that answers are asked for in, made when it is first needed; they take turns. */
export class Samplers {
  readonly #make: (dtype: SamplingDtype) => Made;
  readonly #made = new Map<SamplingDtype, Made>();

  constructor(make: (dtype: SamplingDtype) => Made) { this.#make = make; }

  get running(): boolean { return this.#all.some(({ running }) => running); }
  get waiting(): boolean { return this.#all.some(({ waiting }) => waiting); }

  /** Throws TrainerError when there is no such sampler here. */
  submit(request: SampleRequest, dtype: SamplingDtype = 'float32'): void {
    const made = this.#made.get(dtype) ?? this.#make(dtype);
    this.#made.set(dtype, made);
    made.sampler.submit(request);
  }

  cancel(id: number): void { for (const sampler of this.#all) sampler.cancel(id); }
  failAll(error: TrainerError): void { for (const sampler of this.#all) sampler.failAll(error); }
  admit(): void { for (const sampler of this.#all) sampler.admit(); }
  async step(): Promise<void> { for (const sampler of this.#all) if (sampler.running) await sampler.step(); }
  async weightsChanged(): Promise<void> { for (const sampler of this.#all) await sampler.weightsChanged(); }
  async release(): Promise<void> { for (const { model } of this.#made.values()) await model.release(); }

  /** In one order, whichever was made first. */
  get #all(): Sampler[] { return samplingDtypes.flatMap((dtype) => this.#made.get(dtype)?.sampler ?? []); }
}
