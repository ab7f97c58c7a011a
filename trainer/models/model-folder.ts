import { access, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { zeros, type Tensor } from '../engine/tensor.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { BaseType } from '../protocol/lora-config.ts';
import { adapterBase, readAdapter } from './adapter-folder.ts';
import { configJson, configText } from './config-json.ts';
import { readConfig } from './config.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { frozenParts, type FrozenBase } from './frozen-base.ts';
import { isGguf } from './gguf/read.ts';
import { fetchModel } from './hub/fetch-model.ts';
import { addFactors, type Adapter } from './lora.ts';
import { loadParameters, readParameters, saveParameters, type ParameterBlock } from './weights.ts';

export interface Model { config: DecoderConfig; weights: ParameterBlock }

/**
 * Reads configuration and weights of a Hugging Face model folder or a GGUF file. A folder with an adapter and no weights (a checkpoint of LoRA) is
 * the model that the adapter names, its factors added. Throws TrainerError naming the file at fault.
 */
export async function loadModel(model: string): Promise<Model> {
  const config = await readConfig(model);
  const { place, adapter } = await weightsOf(model, config);
  const weights = await loadParameters(place, config);
  if (adapter) for (const [name, tensor] of weights.tensors) addFactors(name, tensor, adapter);
  return { config, weights };
}

/** As `loadModel`, for a model that is never trained: of each matrix no more than what is kept of it stays in memory. */
export async function loadFrozen(model: string, type: BaseType): Promise<{ config: DecoderConfig; base: FrozenBase }> {
  const config = await readConfig(model);
  const { place, adapter } = await weightsOf(model, config);
  const tensors = new Map<string, Tensor>();
  await readParameters(place, config, (_, shape) => zeros('float32', shape), (name, tensor) => {
    if (adapter) addFactors(name, tensor, adapter);
    for (const [part, kept] of frozenParts(name, tensor, type)) tensors.set(part, kept);
  });
  return { config, base: { type, tensors } };
}

/** Where the weights of a model are, and the adapter to be added to them. */
async function weightsOf(model: string, config: DecoderConfig): Promise<{ place: string; adapter: Adapter | null }> {
  const base = await baseOfAdapter(model);
  if (base === null) return { place: model, adapter: null };
  const place = await fetchModel(await isThere(base) ? base : hubReference(base));
  if (!await isThere(place)) throw new TrainerError('not_found', `The adapter in ${model} is made for the model ${base}, which is not there. Put it back, or name where it is in adapter_config.json.`);
  return { place, adapter: await readAdapter(model, config) };
}

/** PEFT names a model of the hub as the hub does, without our `hf:`. */
function hubReference(base: string): string { return /^[\w.-]+\/[\w.-]+$/.test(base) ? `hf:${base}` : base; }

function isThere(place: string): Promise<boolean> { return access(place).then(() => true, () => false); }

/** The model whose weights a folder is to be read with, where it holds an adapter alone; else null. */
export async function baseOfAdapter(model: string): Promise<string | null> {
  if (isGguf(model)) return null;
  for (const name of ['model.safetensors', 'model.safetensors.index.json']) if (await isThere(path.join(model, name))) return null;
  return adapterBase(model);
}

/** Writes config.json, generation_config.json and model.safetensors into an existing folder. The tokenizer's files are the caller's. */
export async function saveModel(folder: string, { config, weights }: Model): Promise<void> {
  const json = configJson(config);
  const write = (name: string, content: Record<string, unknown>) => writeFile(path.join(folder, name), configText(content), { flush: true });
  await write('config.json', json);
  await write('generation_config.json', { do_sample: true, temperature: 1, eos_token_id: json['eos_token_id'] });
  await saveParameters(folder, weights);
}
