import { access, copyFile, mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { AdamWState } from '../engine/optimizer.ts';
import { wrap, type Tensor } from '../engine/tensor.ts';
import { TrainerError } from '../protocol/errors.ts';
import { configJson, configText } from '../models/config-json.ts';
import { readConfig, readJson } from '../models/config.ts';
import type { DecoderConfig } from '../models/decoder-config.ts';
import { isGguf } from '../models/gguf/read.ts';
import { parameterShapes } from '../models/parameters.ts';
import { readSafetensors, writeSafetensors, type NamedTensor } from '../models/safetensors.ts';
import { readTokenizerFiles } from '../models/tokenizer-files.ts';
import { loadParameters, saveParameters, type ParameterBlock } from '../models/weights.ts';

/** What a resumed run needs besides the weights. */
export interface ResumeState { version: number; optimizer: AdamWState | null }

const State = z.strictObject({ version: z.number().int().min(0), optimizer_step: z.number().int().min(0) });
const stateFile = 'trainer_state.json';
const momentsFile = 'optimizer.safetensors';
const copied = ['generation_config.json', 'tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja', 'special_tokens_map.json', 'vocab.json', 'merges.txt'];

/**
 * Writes a Hugging Face folder: weights as float32, configuration and tokenizer from `source` (a folder or a GGUF file); with `resume`, optimiser state as well.
 * It appears under its name only when complete and on disk. Throws TrainerError `conflict` if the folder exists.
 */
export async function writeCheckpoint(folder: string, source: string, weights: ParameterBlock, resume: ResumeState | null): Promise<void> {
  const exists = await access(folder).then(() => true, () => false);
  if (exists) throw new TrainerError('conflict', `${folder} exists already. Choose another folder for the checkpoint.`);
  const temporary = `${folder}.tmp-${process.pid}`;
  await rm(temporary, { recursive: true, force: true });
  await mkdir(temporary, { recursive: true });
  try {
    if (isGguf(source)) await writeGgufDescription(temporary, source);
    else {
      const config = await readJson(path.join(source, 'config.json')) as Record<string, unknown>;
      await writeFile(path.join(temporary, 'config.json'), configText({ ...config, torch_dtype: 'float32' }), { flush: true });
      for (const name of copied) await copyIfThere(path.join(source, name), path.join(temporary, name));
    }
    await saveParameters(temporary, weights);
    if (resume) {
      await writeJson(path.join(temporary, stateFile), { version: resume.version, optimizer_step: resume.optimizer?.step ?? 0 });
      if (resume.optimizer) await writeSafetensors(path.join(temporary, momentsFile), momentTensors(resume.optimizer));
    }
    await flush(temporary);
    await rename(temporary, folder);
    await flush(path.dirname(folder));
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw error;
  }
}

/** Reads a checkpoint written with `resume`. Throws TrainerError when it is not one, or belongs to a model of another shape. */
export async function readCheckpoint(folder: string, config: DecoderConfig): Promise<ResumeState & { weights: ParameterBlock }> {
  const file = path.join(folder, stateFile);
  const json = await readJson(file);
  if (json === undefined) throw new TrainerError('not_found', `${folder} holds no state to resume from (${stateFile} is missing). Resume from a checkpoint of a training run.`);
  const state = State.safeParse(json);
  if (!state.success) throw new TrainerError('bad_input', `${file}: ${z.prettifyError(state.error)}`);
  const { version, optimizer_step: step } = state.data;
  const weights = await loadParameters(folder, config);
  return { version, weights, optimizer: step === 0 ? null : await readMoments(path.join(folder, momentsFile), config, step) };
}

function momentTensors({ firstMoments, secondMoments }: AdamWState): Map<string, NamedTensor> {
  const part = (prefix: string, tensors: Readonly<Record<string, Tensor>>) =>
    Object.entries(tensors).map(([name, { shape, data }]) => [`${prefix}.${name}`, { shape, data: data as Float32Array }] as const);
  return new Map<string, NamedTensor>([...part('first', firstMoments), ...part('second', secondMoments)]);
}

async function readMoments(file: string, config: DecoderConfig, step: number): Promise<AdamWState> {
  const tensors = await readSafetensors(file);
  const part = (prefix: string) => Object.fromEntries([...parameterShapes(config)].map(([name, shape]) => {
    const found = tensors.get(`${prefix}.${name}`);
    if (found?.shape.join() !== shape.join()) throw new TrainerError('bad_input', `${file}: the optimiser state of "${name}" is missing or has another shape.`);
    return [name, wrap('float32', shape, found.data)];
  }));
  return { step, firstMoments: part('first'), secondMoments: part('second') };
}

/** Configuration and tokenizer of a GGUF file, as a Hugging Face folder has them. */
async function writeGgufDescription(folder: string, file: string): Promise<void> {
  await writeFile(path.join(folder, 'config.json'), configText(configJson(await readConfig(file))), { flush: true });
  const { tokenizer, config } = await readTokenizerFiles(file);
  await writeJson(path.join(folder, 'tokenizer.json'), tokenizer);
  await writeJson(path.join(folder, 'tokenizer_config.json'), config);
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

/** Waits until a file or folder is on disk. Windows cannot flush folders. */
async function flush(target: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(target, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
