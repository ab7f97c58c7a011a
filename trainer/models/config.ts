import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import { JsonTextError, parseJsonText } from '../protocol/json-text.ts';
import { parseAs } from '../protocol/validate.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { readGgufConfig } from './gguf/read-config.ts';
import { isGguf } from './gguf/read.ts';
import { idList, parseConfig, TokenIds } from './huggingface-config.ts';

/**
 * Reads the configuration of a GGUF file, or `config.json` and `generation_config.json` of a model folder; the end-of-sequence ids of both count.
 * Throws TrainerError `not_found` or `bad_input` naming the file.
 */
export async function readConfig(model: string): Promise<DecoderConfig> {
  if (isGguf(model)) return readGgufConfig(model);
  const file = path.join(model, 'config.json');
  const json = await readJson(file);
  if (json === undefined) throw new TrainerError('not_found', `There is no ${file}. A model folder holds config.json, model.safetensors and tokenizer.json.`);
  const config = parseConfig(json, file);
  const generationFile = path.join(model, 'generation_config.json');
  const generation = parseAs(z.looseObject({ eos_token_id: TokenIds }), await readJson(generationFile) ?? {}, generationFile);
  return { ...config, eosIds: [...new Set([...config.eosIds, ...idList(generation.eos_token_id)])] };
}

/** A JSON file, or undefined if it does not exist. Throws TrainerError `bad_input` when it cannot be parsed. */
export async function readJson(file: string): Promise<unknown> {
  const text = await readText(file);
  if (text === undefined) return undefined;
  try {
    return parseJsonText(text);
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    throw new TrainerError('bad_input', `${file} is not valid JSON (line ${error.line}, column ${error.column}): ${error.message}.`, { cause: error });
  }
}

/** A text file, or undefined if it does not exist. Throws TrainerError `environment` when it cannot be read. */
export async function readText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new TrainerError('environment', `${file} cannot be read: ${messageOf(error)}. It must be a readable file.`, { cause: error });
  }
}

