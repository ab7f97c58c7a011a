import path from 'node:path';
import { TrainerError } from '../protocol/errors.ts';
import { cachedModel } from '../models/hub/fetch-model.ts';
import { openTokenizer, type ModelTokenizer } from '../models/tokenizer.ts';

/** Tokenizers by path: opening one reads megabytes. */
const opened = new Map<string, Promise<ModelTokenizer>>();

/** The text of each token. Bytes that are no text by themselves (a part of a character) as ⟨E2 96⟩. Throws TrainerError when the model has no usable tokenizer. */
export async function tokenTexts(model: string, ids: readonly number[]): Promise<string[]> {
  const found = cachedModel(model);
  if (found === null) throw new TrainerError('not_found', `The tokenizer of ${model} is no longer in the cache of the Hugging Face hub. Run an agent with the model once to download it.`);
  const key = path.resolve(found);
  let tokenizer = opened.get(key);
  if (!tokenizer) {
    tokenizer = openTokenizer(key);
    opened.set(key, tokenizer);
    tokenizer.catch(() => opened.delete(key));
  }
  const { bytesOf } = await tokenizer.then((found) => ({ bytesOf: (id: number) => found.bytesOf(id) }));
  return ids.map((id) => textOf(bytesOf(id)));
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOf(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes);
  } catch {
    return `⟨${[...bytes].map((byte) => byte.toString(16).toUpperCase().padStart(2, '0')).join(' ')}⟩`;
  }
}
