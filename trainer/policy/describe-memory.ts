import { readConfig } from '../models/config.ts';
import { fetchModel } from '../models/hub/fetch-model.ts';
import type { BaseType } from '../protocol/lora-config.ts';
import type { SamplingDtype } from '../protocol/rollout.ts';
import { significant } from '../protocol/significant.ts';
import { availableMemory, estimateMemory, rowLength, wayOf } from './memory.ts';

/** Settings that decide how much memory a training run needs. */
export interface MemoryUse { trained: number; micro_batch_tokens: number; enable_gradient_checkpointing?: boolean | undefined; reference: boolean; undo: boolean; base: BaseType; sampled: readonly SamplingDtype[] }

/** What a run will need, against what is free, as a sentence; `fits`: whether it should be enough. `model`: folder, GGUF file or model of the hub, loaded already. */
export async function describeMemory(model: string, use: MemoryUse): Promise<{ fits: boolean; message: string }> {
  const config = await readConfig(await fetchModel(model));
  const length = Math.min(rowLength, use.micro_batch_tokens);
  const tokens = use.micro_batch_tokens;
  const free = availableMemory();
  const batch = Math.floor(tokens / length);
  const way = wayOf(config, { batch, length, trained: batch * length }, use.enable_gradient_checkpointing, free / 2);
  const { weights, reference, training, activations, sampler, total } = estimateMemory(config, { ...use, tokens, length, way });
  const parts = [
    `${size(weights)} for weights`, ...(reference ? [`${size(reference)} for the reference`] : []), `${size(training)} for gradients and optimiser`,
    `${size(activations)} for micro-batches of ${tokens} tokens${way === 'recompute' ? ' with activations computed again' : ''}`, `${size(sampler)} for the sampler`,
  ];
  const fits = total - weights <= free;
  const advice = ' This may not be enough: lower micro_batch_tokens, set enable_gradient_checkpointing, or train factors alone (model.lora_rank).';
  return { fits, message: `Training needs about ${size(total)} of memory: ${parts.join(', ')}. Beside the weights, ${size(free)} are free.${fits ? '' : advice}` };
}

function size(bytes: number): string { return bytes < 1e9 ? `${significant(bytes / 1e6, 2)} MB` : `${significant(bytes / 1e9, 2)} GB`; }
