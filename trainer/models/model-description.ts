import { access, copyFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { configJson, configText } from './config-json.ts';
import { readConfig, readJson } from './config.ts';
import { isGguf } from './gguf/read.ts';
import { readTokenizerFiles } from './tokenizer-files.ts';
import { flush } from './write-whole.ts';

/** As `transformers` names them. */
export type WeightType = 'float32' | 'float16' | 'bfloat16';

const copied = ['generation_config.json', 'tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja', 'special_tokens_map.json', 'vocab.json', 'merges.txt'];

/** Writes what a Hugging Face folder holds besides its weights, configuration and tokenizer, as `source` (such a folder, or a GGUF file) has them. */
export async function writeDescription(folder: string, source: string, type: WeightType): Promise<void> {
  const config = isGguf(source) ? configJson(await readConfig(source)) : await readJson(path.join(source, 'config.json')) as Record<string, unknown>;
  await writeFile(path.join(folder, 'config.json'), configText({ ...config, torch_dtype: type }), { flush: true });
  if (isGguf(source)) {
    const { tokenizer, config: tokenizerConfig } = await readTokenizerFiles(source);
    await writeJson(path.join(folder, 'tokenizer.json'), tokenizer);
    await writeJson(path.join(folder, 'tokenizer_config.json'), tokenizerConfig);
  } else for (const name of copied) await copyIfThere(path.join(source, name), path.join(folder, name));
}

async function writeJson(file: string, value: unknown): Promise<void> {
  await writeFile(file, `${JSON.stringify(value, null, 2)}\n`, { flush: true });
}

async function copyIfThere(from: string, to: string): Promise<void> {
  if (await access(from).then(() => true, () => false)) {
    await copyFile(from, to);
    await flush(to);
  }
}
