import { access } from 'node:fs/promises';
import path from 'node:path';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { z } from 'zod';
import { allocateBlock, type ParameterBlock } from '../engine/parameter-block.ts';
import type { Tensor } from '../engine/tensor.ts';
import { TrainerError } from '../protocol/errors.ts';
import { parseAs } from '../protocol/validate.ts';
import { readJson } from './config.ts';
import { layouts, type DecoderConfig } from './decoder-config.ts';
import { isGguf } from './gguf/read.ts';
import { openGgufWeights } from './gguf/weights.ts';
import { parameterShapes } from './parameters.ts';
import { openSafetensors, writeSafetensors } from './safetensors.ts';
import type { WeightFile } from './weight-file.ts';

export { allocateBlock, type ParameterBlock };

/** Zeros in the shapes of the model's parameters: also for gradients, moments and references. */
export function allocateParameters(config: DecoderConfig): ParameterBlock { return allocateBlock(parameterShapes(config)); }

/** Fresh weights: matrices and embeddings normal(0, `std`), biases 0, norms 1. The same seed gives the same weights. */
export function initialParameters(config: DecoderConfig, seed: number, std = 0.02): ParameterBlock {
  const block = allocateParameters(config);
  const rng = xoroshiro128plus(Math.imul(seed ^ 0x5bd1e995, 0x9e3779b1));
  for (let i = 0; i < 32; i++) rng.next(); // nearby seeds start with nearby states
  for (const [name, { data, shape }] of block.tensors) {
    if (name.endsWith('norm.weight')) data.fill(1 - layouts[config.family].normOffset);
    else if (shape.length === 2) for (let i = 0; i < data.length; i++) data[i] = std * standardNormal(rng);
  }
  return block;
}

/** Reads the weights of a Hugging Face folder or a GGUF file. Throws as `readParameters` does. */
export async function loadParameters(model: string, config: DecoderConfig): Promise<ParameterBlock> {
  let block: ParameterBlock | undefined;
  // Only once the files are known to hold them: sizes of a damaged config.json must not decide how much memory is taken.
  await readParameters(model, config, (name) => (block ??= allocateParameters(config)).tensors.get(name) as Tensor<'float32'>, () => undefined);
  return block as ParameterBlock;
}

/**
 * Reads the weights of a Hugging Face folder (`model.safetensors` or its shards) or of a GGUF file one by one into the room made for each, and tells when it is read.
 * Throws TrainerError naming a missing, unknown or misshapen tensor, or one with a value that is not finite.
 */
export async function readParameters(model: string, config: DecoderConfig, room: (name: string, shape: readonly number[]) => Tensor<'float32'>, done: (name: string, tensor: Tensor<'float32'>) => void): Promise<void> {
  const files: WeightFile[] = [];
  try {
    if (isGguf(model)) files.push(await openGgufWeights(model, config));
    else for (const file of await weightFiles(model)) files.push(await openSafetensors(file));
    const found = new Map(files.flatMap((file) => [...file.shapes.keys()].map((name) => [name, file] as const)));
    for (const [name, shape] of parameterShapes(config)) {
      const source = found.get(name)?.shapes.get(name);
      if (!source) throw new TrainerError('bad_input', `${model}: the weights have no tensor "${name}", which the configuration asks for. The files belong to different models.`);
      if (source.join() !== shape.join()) {
        throw new TrainerError('bad_input', `${model}: tensor "${name}" has shape [${source.join(', ')}], but the configuration asks for [${shape.join(', ')}].`);
      }
    }
    const extra = [...found.keys()].filter((name) => !parameterShapes(config).has(name) && !isIgnored(name, config));
    if (extra.length > 0) throw new TrainerError('bad_input', `${model}: tensor "${extra[0]}" is not part of a ${config.family} model (${extra.length} such). Use weights that fit the configuration.`);
    for (const [name, shape] of parameterShapes(config)) {
      const tensor = room(name, shape);
      await (found.get(name) as WeightFile).read(name, tensor.data);
      requireFinite(tensor.data, name, model);
      done(name, tensor);
    }
  } finally {
    for (const file of files) await file.close();
  }
}

/** Some files store the tied copy of the embeddings, or the rotary frequencies, which the configuration tells. */
function isIgnored(name: string, { tied }: DecoderConfig): boolean {
  return (tied && name === 'lm_head.weight') || name.endsWith('.rotary_emb.inv_freq');
}

export async function saveParameters(folder: string, block: ParameterBlock): Promise<void> {
  await writeSafetensors(path.join(folder, 'model.safetensors'), block.tensors);
}

const Index = z.looseObject({ weight_map: z.record(z.string(), z.string().regex(/^[^/\\]+$/)) });

async function weightFiles(folder: string): Promise<string[]> {
  const single = path.join(folder, 'model.safetensors');
  if (await access(single).then(() => true, () => false)) return [single];
  const indexFile = `${single}.index.json`;
  const json = await readJson(indexFile);
  if (json === undefined) throw new TrainerError('not_found', `There is no model.safetensors in ${folder}. Save the weights in safetensors format there.`);
  const { weight_map: map } = parseAs(Index, json, indexFile);
  return [...new Set(Object.values(map))].map((name) => path.join(folder, name));
}

function requireFinite(data: Float32Array, name: string, model: string): void {
  for (let i = 0; i < data.length; i++) {
    if (!Number.isFinite(data[i])) throw new TrainerError('bad_input', `${model}: tensor "${name}" holds ${data[i]} at position ${i}. The weights are damaged; download them again, or take an earlier checkpoint.`);
  }
}

/** Box and Muller's method. */
function standardNormal(rng: Parameters<typeof uniformFloat64>[0]): number {
  return Math.sqrt(-2 * Math.log(1 - uniformFloat64(rng))) * Math.cos(2 * Math.PI * uniformFloat64(rng));
}
