import { copyFile, mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { readConfig } from '../models/config.ts';
import { requireFloat16 } from '../models/half.ts';
import { isGguf } from '../models/gguf/read.ts';
import { baseOfAdapter, loadModel } from '../models/model-folder.ts';
import { writeDescription, type WeightType } from '../models/model-description.ts';
import { writeSafetensors, type SafetensorsType } from '../models/safetensors.ts';
import { flush, writeWhole } from '../models/write-whole.ts';

export const huggingFaceTypes = ['f32', 'f16', 'bf16'] as const;
export type HuggingFaceType = (typeof huggingFaceTypes)[number];

const names: Readonly<Record<HuggingFaceType, [SafetensorsType, WeightType]>> = { f32: ['F32', 'float32'], f16: ['F16', 'float16'], bf16: ['BF16', 'bfloat16'] };

/** What a checkpoint holds for nobody but the trainer. */
const notExported = /^(trainer_state\.json|optimizer\.safetensors|\..*)$/;

/** Writes a Hugging Face folder that is a model's whole: a copy of the folder `source`, or with the weights in another type. A GGUF file, and a checkpoint that holds an adapter alone, become a folder of float32. */
export async function exportHuggingFace(source: string, folder: string, type: HuggingFaceType | null): Promise<void> {
  await writeWhole(folder, async (temporary) => {
    await mkdir(temporary, { recursive: true });
    if (type === null && !isGguf(source) && await baseOfAdapter(source) === null) return copyModel(source, temporary);
    const [dtype, weightType] = names[type ?? 'f32'];
    const { weights } = await loadModel(source);
    if (dtype === 'F16') for (const [tensor, { data }] of weights.tensors) requireFloat16(source, tensor, data);
    await writeDescription(temporary, source, weightType);
    await writeSafetensors(path.join(temporary, 'model.safetensors'), weights.tensors, dtype);
  });
}

async function copyModel(source: string, folder: string): Promise<void> {
  await readConfig(source); // names what is missing when it is no model
  for (const entry of await readdir(source, { withFileTypes: true })) {
    if (entry.isDirectory() || notExported.test(entry.name)) continue;
    const copy = path.join(folder, entry.name);
    await copyFile(path.join(source, entry.name), copy);
    await flush(copy);
  }
}
