import { readConfig } from '../models/config.ts';
import { fetchModel } from '../models/hub/fetch-model.ts';
import type { SamplingDtype } from '../protocol/rollout.ts';
import { significant } from '../protocol/significant.ts';
import { availableMemory, estimateMemory, rowLength, wayOf } from './memory.ts';

/** Settings that decide how much memory a training run needs. */
export interface MemoryUse { trained: number; micro_batch_tokens: number; enable_gradient_checkpointing?: boolean | undefined; reference: boolean; undo: boolean; sampled: readonly SamplingDtype[] }

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
    `${gigabytes(weights)} for weights`, ...(reference ? [`${gigabytes(reference)} for the reference`] : []), `${gigabytes(training)} for gradients and optimiser`,
    `${gigabytes(activations)} for micro-batches of ${tokens} tokens${way === 'recompute' ? ' with activations computed again' : ''}`, `${gigabytes(sampler)} for the sampler`,
  ];
  const fits = total - weights <= free;
  const advice = ' This may not be enough: lower micro_batch_tokens, set enable_gradient_checkpointing, or train factors alone (model.lora_rank).';
  return { fits, message: `Training needs about ${gigabytes(total)} of memory: ${parts.join(', ')}. Beside the weights, ${gigabytes(free)} are free.${fits ? '' : advice}` };
}

function gigabytes(bytes: number): string { return `${significant(bytes / 1e9, 2)} GB`; }
