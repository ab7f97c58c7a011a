import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';

/** What a model is made of; other files of its folder (a README, say) change nothing. */
const parts = /^(config\.json|tokenizer.*\.json|chat_template\.jinja|.*\.safetensors(\.index\.json)?)$/;

/** SHA-256 over the files of a Hugging Face model folder: the same exactly when the model is. Throws what the file system throws. */
export async function fingerprintModel(folder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const name of (await readdir(folder)).filter((each) => parts.test(each)).sort()) {
    hash.update(`${name}\0`);
    for await (const bytes of createReadStream(path.join(folder, name))) hash.update(bytes as Buffer);
  }
  return hash.digest('hex');
}
