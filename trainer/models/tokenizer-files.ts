import path from 'node:path';
import { TrainerError } from '../protocol/errors.ts';
import { readJson, readText } from './config.ts';
import { isGguf, readGguf } from './gguf/read.ts';
import { tokenizerOfGguf } from './gguf/tokenizer.ts';

/** What a tokenizer is made of: the parsed tokenizer.json and tokenizer_config.json, the text of chat_template.jinja, and the files that errors name. */
export interface TokenizerFiles { tokenizer: unknown; config: unknown; template: string | null; tokenizerFile: string; configFile: string }

/** Of a Hugging Face folder or a GGUF file. Throws TrainerError naming the file that is missing or cannot be read. */
export async function readTokenizerFiles(model: string): Promise<TokenizerFiles> {
  if (isGguf(model)) return tokenizerOfGguf(await readGguf(model));
  const tokenizerFile = path.join(model, 'tokenizer.json');
  const configFile = path.join(model, 'tokenizer_config.json');
  const tokenizer = await readJson(tokenizerFile);
  if (tokenizer === undefined) throw new TrainerError('not_found', `There is no ${tokenizerFile}. A model folder holds the tokenizer in Hugging Face's tokenizer.json format.`);
  return { tokenizer, config: await readJson(configFile) ?? {}, template: await readText(path.join(model, 'chat_template.jinja')) ?? null, tokenizerFile, configFile };
}
