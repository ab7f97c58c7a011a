import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { fetchModel } from '../models/hub/fetch-model.ts';

/** What a model folder is made of; its other files (a README, say) change nothing. */
const parts = /^((adapter_)?config\.json|tokenizer.*\.json|chat_template\.jinja|.*\.safetensors(\.index\.json)?)$/;

/** SHA-256 over a model, named as for `openPolicy`: the same exactly when the model is. Throws TrainerError, or what the file system throws. */
export async function fingerprintModel(model: string): Promise<string> {
  const place = await fetchModel(model);
  const names = (await stat(place)).isDirectory() ? (await readdir(place)).filter((name) => parts.test(name)).sort() : [''];
  const hash = createHash('sha256');
  for (const name of names) {
    hash.update(`${name}\0`);
    for await (const bytes of createReadStream(path.join(place, name))) hash.update(bytes as Buffer);
  }
  return hash.digest('hex');
}
