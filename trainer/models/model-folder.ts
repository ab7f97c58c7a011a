import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { configJson, configText } from './config-json.ts';
import { readConfig } from './config.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { loadParameters, saveParameters, type ParameterBlock } from './weights.ts';

export interface Model { config: DecoderConfig; weights: ParameterBlock }

/** Reads configuration and weights of a Hugging Face model folder or a GGUF file. Throws TrainerError naming the file at fault. */
export async function loadModel(model: string): Promise<Model> {
  const config = await readConfig(model);
  return { config, weights: await loadParameters(model, config) };
}

/** Writes config.json, generation_config.json and model.safetensors into an existing folder. The tokenizer's files are the caller's. */
export async function saveModel(folder: string, { config, weights }: Model): Promise<void> {
  const json = configJson(config);
  const write = (name: string, content: Record<string, unknown>) => writeFile(path.join(folder, name), configText(content), { flush: true });
  await write('config.json', json);
  await write('generation_config.json', { do_sample: true, temperature: 1, eos_token_id: json['eos_token_id'] });
  await saveParameters(folder, weights);
}
