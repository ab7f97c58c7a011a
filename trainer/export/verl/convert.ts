import { existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { elementCount } from '../../engine/tensor.ts';
import { writeAdapter } from '../../models/adapter-folder.ts';
import { readJson } from '../../models/config.ts';
import { writeDescription, type WeightType } from '../../models/model-description.ts';
import { writeTensorBytes, type SafetensorsType, type TensorBytes } from '../../models/safetensors.ts';
import { writeWhole } from '../../models/write-whole.ts';
import { TrainerError } from '../../protocol/errors.ts';
import { mergedWith, withoutLora } from './lora.ts';
import { bytesPerValue, openShard, type Part, type ShardFile } from './shard.ts';

const rankFile = /^model_world_size_(\d+)_rank_0\.pt$/;
const typeNames: Readonly<Record<SafetensorsType, WeightType>> = { F32: 'float32', F16: 'float16', BF16: 'bfloat16' };
const bytesAtOnce = 2 ** 24;

/**
 * Merges a checkpoint of verl's FSDP training (`global_step_N`, or its folder `actor`) into a Hugging Face folder, with the types the weights have there.
 * Factors of LoRA are added to their matrices, and are in the folder `adapter` beside (PEFT's layout); where verl saved them alone (`save_lora_only`), the folder is an
 * adapter with configuration and tokenizer. No more than a few megabytes are in memory at a time, or one matrix with LoRA. Throws TrainerError naming file and tensor.
 */
export async function convertVerl(checkpoint: string, folder: string): Promise<void> {
  const { files, description } = await findShards(checkpoint);
  const shards: ShardFile[] = [];
  try {
    for (const file of files) shards.push(await openShard(file));
    const from = path.dirname(description);
    const { model, adapter } = await withoutLora(merged(shards, files[0] as string), from);
    const config = await readJson(path.join(description, 'config.json')) as { tie_word_embeddings?: unknown; _name_or_path?: unknown } | undefined;
    if (!config) throw new TrainerError('not_found', `There is no ${path.join(description, 'config.json')}. verl saves configuration and tokenizer there; copy them from the model that was trained.`);
    const tensors = adapter && model.length > 0 ? mergedWith(adapter, model, from) : model;
    const kept = config.tie_word_embeddings === true ? tensors.filter(({ name }) => name !== 'lm_head.weight') : tensors;
    const base = typeof config._name_or_path === 'string' && config._name_or_path !== '' ? config._name_or_path : null;
    await writeWhole(folder, async (temporary) => {
      await mkdir(temporary, { recursive: true });
      await writeDescription(temporary, description, typeNames[kept[0]?.dtype ?? 'F32']);
      if (kept.length > 0) await writeTensorBytes(path.join(temporary, 'model.safetensors'), kept);
      if (!adapter) return;
      const beside = kept.length > 0 ? path.join(temporary, 'adapter') : temporary;
      await mkdir(beside, { recursive: true });
      await writeAdapter(beside, adapter, base);
    });
  } finally {
    for (const shard of shards) await shard.close();
  }
}

/** The files of all ranks in their order, and the folder of configuration and tokenizer. */
async function findShards(checkpoint: string): Promise<{ files: string[]; description: string }> {
  for (const folder of [checkpoint, path.join(checkpoint, 'actor')]) {
    const sizes = (await readdir(folder).catch(() => [])).flatMap((name) => rankFile.exec(name)?.[1] ?? []);
    if (sizes.length > 1) throw new TrainerError('bad_input', `${folder} holds checkpoints of ${sizes.join(' and ')} ranks. Leave only those that belong together.`);
    if (sizes.length === 0) continue;
    const files = Array.from({ length: Number(sizes[0]) }, (_, rank) => path.join(folder, `model_world_size_${sizes[0]}_rank_${rank}.pt`));
    const missing = files.find((file) => !existsSync(file));
    if (missing !== undefined) throw new TrainerError('not_found', `There is no ${missing}. Copy the files of all ${files.length} ranks into one folder.`);
    return { files, description: path.join(folder, 'huggingface') };
  }
  throw new TrainerError('not_found', `${checkpoint} holds no checkpoint of verl's FSDP training: no model_world_size_N_rank_0.pt in it or in its folder actor. Megatron checkpoints cannot be converted.`);
}

function merged(shards: readonly ShardFile[], file: string): TensorBytes[] {
  const first = shards[0] as ShardFile;
  if (first.parts.size === 0) throw new TrainerError('bad_input', `${file} cannot be converted: it holds no tensors.`);
  return [...first.parts].map(([name, { dtype, whole, dim }]) => {
    const refuse = (problem: string) => new TrainerError('bad_input', `${file} cannot be converted: tensor "${name}" ${problem}.`);
    const parts = shards.map(({ parts: of }) => of.get(name));
    const present = parts.filter((part) => part !== undefined);
    if (present.length < parts.length) throw refuse('is not in the files of all ranks');
    if (present.some((part) => part.dtype !== dtype || part.dim !== dim || part.whole.join() !== whole.join())) throw refuse('is of another type or shape in the file of another rank');
    if (dim === 'untold' && shards.length > 1) throw refuse('does not say how it is spread over the ranks');
    const used = typeof dim === 'number' ? together(present, dim, whole, refuse) : present.slice(0, 1);
    return { name, dtype, shape: whole, parts: () => joined(used, typeof dim === 'number' ? dim : 0, whole, bytesPerValue[dtype]) };
  });
}

/** The first ranks whose parts make the whole; others hold replicas. */
function together(parts: readonly Part[], dim: number, whole: readonly number[], refuse: (problem: string) => TrainerError): Part[] {
  const used: Part[] = [];
  let rows = 0;
  for (const part of parts) {
    if (rows === whole[dim]) break;
    if (part.shape.length !== whole.length || part.shape.some((size, i) => i !== dim && size !== whole[i])) throw refuse(`has a part of shape [${part.shape.join(', ')}], which does not fit in [${whole.join(', ')}]`);
    rows += part.shape[dim] as number;
    used.push(part);
  }
  if (rows !== whole[dim]) throw refuse(`has ${rows} of ${whole[dim]} rows in the files of all ranks`);
  return used;
}

/** Parts cut along dimension `dim`, as the bytes of the whole. */
async function* joined(parts: readonly Part[], dim: number, whole: readonly number[], width: number): AsyncIterable<Uint8Array> {
  for (let row = 0; row < elementCount(whole.slice(0, dim)); row++) {
    for (const part of parts) {
      const length = elementCount(part.shape.slice(dim)) * width;
      for (let start = 0; start < length; start += bytesAtOnce) yield await part.read(row * length + start, Math.min(bytesAtOnce, length - start));
    }
  }
}
