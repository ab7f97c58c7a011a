import { TrainerError } from '../../protocol/errors.ts';

/** A model on the Hugging Face hub; `file` is a GGUF file of it, null means the whole folder. */
export interface HubReference { repository: string; revision: string; file: string | null }

export function isHubReference(model: string): boolean { return model.startsWith('hf:'); }

/** Reads `hf:owner/name`, with `@revision` and `/path/of/file.gguf` if need be. Throws TrainerError `bad_input`. */
export function parseHubReference(text: string): HubReference {
  const found = /^hf:([\w.-]+\/[\w.-]+)(?:@([\w.-]+))?(?:\/([\w./ -]+\.gguf))?$/i.exec(text);
  const [, repository, revision = 'main', file = null] = found ?? [];
  if (repository === undefined || text.includes('..')) {
    throw new TrainerError('bad_input', `"${text}" names no model of the Hugging Face hub. Write hf:owner/name, with a version as in hf:owner/name@main, or a file as in hf:owner/name/model-q8_0.gguf.`);
  }
  return { repository, revision, file };
}
