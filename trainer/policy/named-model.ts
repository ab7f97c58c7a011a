import { existsSync } from 'node:fs';
import path from 'node:path';
import { isGguf } from '../models/gguf/read.ts';
import { isHubReference, parseHubReference } from '../models/hub/reference.ts';
import { TrainerError } from '../protocol/errors.ts';

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
  if (existsSync(path.join(model, 'adapter_config.json'))) throw new TrainerError('not_found', `${model} holds a LoRA adapter and no config.json. Copy config.json and the tokenizer's files of the model it was made for into the folder.`);
  const hub = /^[\w.-]+\/[\w.-]+$/.test(name) ? ` For the model of that name on the Hugging Face hub write hf:${name}.` : '';
  throw new TrainerError('not_found', `There is no model in ${model}${isGguf(model) ? '' : ': it has no config.json'}. A model is a folder with config.json, model.safetensors and tokenizer.json, a GGUF file, or hf:owner/name of the Hugging Face hub; the URL of a server begins with http:// or https://.${hub}`);
}
