import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { AdamWState } from '../engine/optimizer.ts';
import { wrap, type Tensor } from '../engine/tensor.ts';
import { TrainerError } from '../protocol/errors.ts';
import { readJson } from '../models/config.ts';
import type { DecoderConfig } from '../models/decoder-config.ts';
import { writeDescription } from '../models/model-description.ts';
import { parameterShapes } from '../models/parameters.ts';
import { readSafetensors, writeSafetensors, type NamedTensor } from '../models/safetensors.ts';
import { loadParameters, saveParameters, type ParameterBlock } from '../models/weights.ts';
import { writeWhole } from '../models/write-whole.ts';

/** What a resumed run needs besides the weights. */
export interface ResumeState { version: number; optimizer: AdamWState | null }

const State = z.strictObject({ version: z.number().int().min(0), optimizer_step: z.number().int().min(0) });
const stateFile = 'trainer_state.json';
const momentsFile = 'optimizer.safetensors';

/**
 * Writes a Hugging Face folder: weights as float32, configuration and tokenizer from `source` (a folder or a GGUF file); with `resume`, optimiser state as well.
 * It appears under its name only when complete and on disk. Throws TrainerError `conflict` if the folder exists.
 */
export async function writeCheckpoint(folder: string, source: string, weights: ParameterBlock, resume: ResumeState | null): Promise<void> {
  await writeWhole(folder, async (temporary) => {
    await mkdir(temporary, { recursive: true });
    await writeDescription(temporary, source, 'float32');
    await saveParameters(temporary, weights);
    if (resume) {
      const state = { version: resume.version, optimizer_step: resume.optimizer?.step ?? 0 };
      await writeFile(path.join(temporary, stateFile), `${JSON.stringify(state, null, 2)}\n`, { flush: true });
      if (resume.optimizer) await writeSafetensors(path.join(temporary, momentsFile), momentTensors(resume.optimizer));
    }
  });
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
