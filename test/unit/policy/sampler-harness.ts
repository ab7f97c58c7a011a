import { Detokenizer } from '../../../trainer/models/detokenizer.ts';
import type { DecoderConfig } from '../../../trainer/models/decoder-config.ts';
import type { LoraSettings } from '../../../trainer/models/lora.ts';
import { wholeModel } from '../../../trainer/models/policy-weights.ts';
import type { ParameterBlock } from '../../../trainer/models/weights.ts';
import { DecodeModel } from '../../../trainer/policy/decode-model.ts';
import { Sampler, type SampleEvent, type SampleRequest, type SampledToken } from '../../../trainer/policy/sampler.ts';
import { frozenBase, randomFactors } from '../../fixtures/lora.ts';
import type { BaseType } from '../../../trainer/protocol/lora-config.ts';
import type { SamplingDtype } from '../../../trainer/protocol/rollout.ts';
import { engine } from '../models/small-model.ts';

export interface Result { tokens: number[]; logprobs: number[]; alternatives: SampledToken['alternatives'][]; end: string; cached: number }

/** A sampler over a small model, run to the end or step by step. */
export class SamplerHarness {
  readonly results = new Map<number, Result>();
  readonly model: DecodeModel;
  readonly sampler: Sampler;

  constructor(config: DecoderConfig, weights: ParameterBlock, { slots = 8, stopIds = [], cacheBytes = 2 ** 28, lora = null, base = 'float32', dtype = 'float32' }: { slots?: number; stopIds?: number[]; cacheBytes?: number; lora?: LoraSettings | null; base?: BaseType; dtype?: SamplingDtype } = {}) {
    const model = lora ? { trainable: randomFactors(config, lora), frozen: { base: frozenBase(weights, base), lora } } : wholeModel(weights);
    this.model = new DecodeModel(config, model, engine, slots, dtype);
    // Token n prints as the letter at n, so that stop strings can be written down.
    this.sampler = new Sampler(this.model, stopIds, () => new Detokenizer((id) => Uint8Array.of(97 + (id % 26))), (event) => this.#collect(event), cacheBytes);
  }

  submit(request: Partial<SampleRequest> & { id: number; prompt: number[] }): void {
    this.results.set(request.id, { tokens: [], logprobs: [], alternatives: [], end: '', cached: 0 });
    this.sampler.submit({ max_tokens: 12, temperature: 1, top_p: 1, top_k: 0, seed: request.id, stop: [], top_logprobs: 0, ...request });
  }

  async finish(): Promise<void> {
    while (this.sampler.running || this.sampler.waiting) await this.turn();
  }

  async turn(): Promise<void> {
    if (this.sampler.waiting) this.sampler.admit();
    if (this.sampler.running) await this.sampler.step();
  }

  async sample(request: Partial<SampleRequest> & { prompt: number[] }): Promise<Result> {
    this.submit({ id: 1, ...request });
    await this.finish();
    return this.results.get(1)!;
  }

  #collect(event: SampleEvent): void {
    const result = this.results.get(event.id)!;
    if (event.type === 'done') [result.end, result.cached] = [event.finish, event.cached];
    else if (event.type === 'failed') result.end = event.error.code;
    else {
      result.tokens.push(event.token.token);
      result.logprobs.push(event.token.logprob);
      result.alternatives.push(event.token.alternatives);
    }
  }
}
