import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { isGguf } from '../models/gguf/read.ts';
import { isHubReference, parseHubReference } from '../models/hub/reference.ts';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import { parseAs } from '../protocol/validate.ts';

/**
 * A model as a person names it, ready for `openPolicy`: a model of the hub (`hf:owner/name`), or the path of a folder or GGUF file relative to `folder`.
 * Throws TrainerError when there is none: a run may come to its second model only after an hour.
 */
export function namedModel(name: string, folder: string): string {
  if (isHubReference(name)) {
    parseHubReference(name);
    return name;
  }
  const model = path.resolve(folder, name);
  if (existsSync(isGguf(model) ? model : path.join(model, 'config.json'))) return model;
  if (existsSync(path.join(model, 'adapter_config.json'))) throw new TrainerError('not_found', `${model} holds a LoRA adapter and no config.json. Name it as model.lora_adapter_path of a configuration to go on training it, or copy config.json and the tokenizer's files of the model it was made for into the folder.`);
  const hub = /^[\w.-]+\/[\w.-]+$/.test(name) ? ` For the model of that name on the Hugging Face hub write hf:${name}.` : '';
  throw new TrainerError('not_found', `There is no model in ${model}${isGguf(model) ? '' : ': it has no config.json'}. A model is a folder with config.json, model.safetensors and tokenizer.json, a GGUF file, or hf:owner/name of the Hugging Face hub; the URL of a server begins with http:// or https://.${hub}`);
}

/** The folder of a LoRA adapter as a person names it, relative to `folder`. Throws TrainerError when it holds none. */
export function namedAdapter(name: string, folder: string): string {
  const adapter = path.resolve(folder, name);
  for (const file of ['adapter_config.json', 'adapter_model.safetensors']) {
    if (!existsSync(path.join(adapter, file))) throw new TrainerError('not_found', `model.lora_adapter_path: there is no ${file} in ${adapter}. An adapter is a folder on this machine as PEFT saves it, with adapter_config.json and adapter_model.safetensors.`);
  }
  return adapter;
}

/** The local model that a configuration in `folder` names: its path, else what its adapter says it was made for (a path, or a model of the hub). Null: it names none. Throws TrainerError. */
export function configuredModel({ path: name, lora_adapter_path }: { path?: string | undefined; lora_adapter_path?: string | undefined }, folder: string): string | null {
  if (name !== undefined) return namedModel(name, folder);
  if (lora_adapter_path === undefined) return null;
  const file = path.join(namedAdapter(lora_adapter_path, folder), 'adapter_config.json');
  const { base_model_name_or_path: base } = parseAs(AdapterBase, readJsonNow(file), file);
  if (!existsSync(path.resolve(folder, base)) && /^[\w.-]+\/[\w.-]+$/.test(base)) return namedModel(`hf:${base}`, folder);
  try {
    return namedModel(base, folder);
  } catch (error) {
    throw new TrainerError('not_found', `${file}: base_model_name_or_path is "${base}", which is no model here. Give the model as model.path. (${messageOf(error)})`, { cause: error });
  }
}

const AdapterBase = z.looseObject({ base_model_name_or_path: z.string({ error: 'names no model: give it as model.path' }) });

function readJsonNow(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new TrainerError('bad_input', `${file} cannot be read: ${messageOf(error)}.`, { cause: error });
  }
}
