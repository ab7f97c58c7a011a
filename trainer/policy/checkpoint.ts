import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { AdamWState } from '../engine/optimizer.ts';
import { wrap, type Tensor } from '../engine/tensor.ts';
import { TrainerError } from '../protocol/errors.ts';
import { readConfig, readJson } from '../models/config.ts';
import type { DecoderConfig } from '../models/decoder-config.ts';
import { readAdapter, writeAdapter } from '../models/adapter-folder.ts';
import { writeDescription } from '../models/model-description.ts';
import { frozenValue } from '../models/frozen-base.ts';
import { addFactors, type LoraSettings } from '../models/lora.ts';
import type { Frozen, PolicyWeights } from '../models/policy-weights.ts';
import { parameterShapes } from '../models/parameters.ts';
import { readSafetensors, writeSafetensors, writeTensorBytes, type NamedTensor } from '../models/safetensors.ts';
import { allocateBlock, loadParameters, saveParameters, type ParameterBlock } from '../models/weights.ts';
import { writeWhole } from '../models/write-whole.ts';

/** What a resumed run needs besides the weights. */
export interface ResumeState { version: number; optimizer: AdamWState | null; average: ParameterBlock | null }

const State = z.strictObject({ version: z.number().int().min(0), optimizer_step: z.number().int().min(0) });
const stateFile = 'trainer_state.json';
const momentsFile = 'optimizer.safetensors';
const averageFile = 'ema.safetensors';

/**
 * Writes a Hugging Face folder: weights as float32, configuration and tokenizer from `source` (a folder or a GGUF file); with `resume`, optimiser state as well.
 * With LoRA: to resume, the adapter alone; else the model with the factors added, and the adapter in the folder `adapter` (PEFT's layout). It appears under its name only when complete and on disk. Throws TrainerError `conflict` if the folder exists.
 */
export async function writeCheckpoint(folder: string, source: string, { trainable, frozen }: PolicyWeights, resume: ResumeState | null): Promise<void> {
  await writeWhole(folder, async (temporary) => {
    await mkdir(temporary, { recursive: true });
    await writeDescription(temporary, source, 'float32');
    if (!frozen) await saveParameters(temporary, trainable);
    else if (resume) await writeAdapter(temporary, { settings: frozen.lora, factors: trainable }, source);
    else await saveMerged(temporary, await readConfig(source), trainable, frozen, source);
    if (resume) {
      const state = { version: resume.version, optimizer_step: resume.optimizer?.step ?? 0 };
      await writeFile(path.join(temporary, stateFile), `${JSON.stringify(state, null, 2)}\n`, { flush: true });
      if (resume.optimizer) await writeSafetensors(path.join(temporary, momentsFile), momentTensors(resume.optimizer));
      if (resume.average) await writeSafetensors(path.join(temporary, averageFile), resume.average.tensors);
    }
  });
}

/** Weights of a checkpoint written with `resume`: what is trained, of a policy with this model. Throws TrainerError when it is no such checkpoint, or of a model of another shape. */
export async function readCheckpoint(folder: string, config: DecoderConfig, frozen: Frozen | null): Promise<ResumeState & { weights: ParameterBlock }> {
  const file = path.join(folder, stateFile);
  const json = await readJson(file);
  if (json === undefined) throw new TrainerError('not_found', `${folder} holds no state to resume from (${stateFile} is missing). Resume from a checkpoint of a training run.`);
  const state = State.safeParse(json);
  if (!state.success) throw new TrainerError('bad_input', `${file}: ${z.prettifyError(state.error)}`);
  const { version, optimizer_step: step } = state.data;
  const weights = frozen ? await readFactors(folder, config, frozen.lora) : await loadParameters(folder, config);
  return {
    version, weights,
    optimizer: step === 0 ? null : await readMoments(path.join(folder, momentsFile), weights, step),
    average: existsSync(path.join(folder, averageFile)) ? await readAverage(path.join(folder, averageFile), weights) : null,
  };
}

async function readFactors(folder: string, config: DecoderConfig, lora: LoraSettings): Promise<ParameterBlock> {
  const { settings, factors } = await readAdapter(folder, config);
  if (JSON.stringify(settings) === JSON.stringify({ rank: lora.rank, alpha: lora.alpha, targets: lora.targets, rslora: lora.rslora })) return factors;
  throw new TrainerError('bad_input', `The adapter in ${folder} has other LoRA settings (${JSON.stringify(settings)}) than this policy (${JSON.stringify(lora)}). Resume with those it was trained with.`);
}

/** The model one matrix at a time, so that it is not in memory twice. */
async function saveMerged(folder: string, config: DecoderConfig, factors: ParameterBlock, { base, lora }: Frozen, source: string): Promise<void> {
  const adapter = { settings: lora, factors };
  await writeTensorBytes(path.join(folder, 'model.safetensors'), [...parameterShapes(config)].map(([name, shape]) => ({
    name, dtype: 'F32', shape,
    parts: () => {
      const value = frozenValue(base, name);
      const merged = value === base.tensors.get(name) ? { ...value, data: value.data.slice() } : value;
      addFactors(name, merged, adapter);
      return [new Uint8Array(merged.data.buffer, merged.data.byteOffset, merged.data.byteLength)];
    },
  })));
  const beside = path.join(folder, 'adapter');
  await mkdir(beside);
  await writeAdapter(beside, adapter, source);
}

function momentTensors({ firstMoments, secondMoments }: AdamWState): Map<string, NamedTensor> {
  const part = (prefix: string, tensors: Readonly<Record<string, Tensor>>) =>
    Object.entries(tensors).map(([name, { shape, data }]) => [`${prefix}.${name}`, { shape, data: data as Float32Array }] as const);
  return new Map<string, NamedTensor>([...part('first', firstMoments), ...part('second', secondMoments)]);
}

async function readAverage(file: string, weights: ParameterBlock): Promise<ParameterBlock> {
  const tensors = await readSafetensors(file);
  const average = allocateBlock(weights.tensors);
  for (const [name, { shape, data }] of average.tensors) data.set(found(tensors, name, shape, file));
  return average;
}

function found(tensors: ReadonlyMap<string, NamedTensor>, name: string, shape: readonly number[], file: string): Float32Array {
  const tensor = tensors.get(name);
  if (tensor?.shape.join() !== shape.join()) throw new TrainerError('bad_input', `${file}: "${name}" is missing or has another shape than the model asks for.`);
  if (!tensor.data.every(Number.isFinite)) throw new TrainerError('bad_input', `${file}: "${name}" holds a value that is not finite. The checkpoint is damaged; take an earlier one.`);
  return tensor.data;
}

async function readMoments(file: string, weights: ParameterBlock, step: number): Promise<AdamWState> {
  const tensors = await readSafetensors(file);
  const part = (prefix: string) => Object.fromEntries([...weights.tensors].map(([name, { shape }]) => [name, wrap('float32', shape, found(tensors, `${prefix}.${name}`, shape, file))]));
  return { step, firstMoments: part('first'), secondMoments: part('second') };
}
