import { access } from 'node:fs/promises';
import path from 'node:path';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { z } from 'zod';
import { elementCount, wrap, type Tensor } from '../engine/tensor.ts';
import { TrainerError } from '../protocol/errors.ts';
import { parseAs } from '../protocol/validate.ts';
import { readJson, type Qwen2Config } from './config.ts';
import { parameterShapes } from './parameters.ts';
import { readSafetensors, writeSafetensors, type NamedTensor } from './safetensors.ts';

/** Named tensors over one block of memory: copying, comparing and scanning a model is one pass over `flat`. */
export interface ParameterBlock {
  readonly flat: Float32Array;
  readonly tensors: ReadonlyMap<string, Tensor<'float32'>>;
}

/** Zeros in the shapes of the model's parameters: also for gradients, moments and references. */
export function allocateParameters(config: Qwen2Config): ParameterBlock {
  const shapes = [...parameterShapes(config)];
  const flat = new Float32Array(shapes.reduce((sum, [, shape]) => sum + elementCount(shape), 0));
  let offset = 0;
  const tensors = new Map(shapes.map(([name, shape]) => {
    const data = flat.subarray(offset, offset += elementCount(shape));
    return [name, wrap('float32', shape, data)];
  }));
  return { flat, tensors };
}

/** Fresh weights: matrices and embeddings normal(0, `std`), biases 0, norms 1. The same seed gives the same weights. */
export function initialParameters(config: Qwen2Config, seed: number, std = 0.02): ParameterBlock {
  const block = allocateParameters(config);
  const rng = xoroshiro128plus(Math.imul(seed ^ 0x5bd1e995, 0x9e3779b1));
  for (let i = 0; i < 32; i++) rng.next(); // nearby seeds start with nearby states
  for (const [name, { data, shape }] of block.tensors) {
    if (name.endsWith('norm.weight')) data.fill(1);
    else if (shape.length === 2) for (let i = 0; i < data.length; i++) data[i] = std * standardNormal(rng);
  }
  return block;
}

/** Reads `model.safetensors` (or its shards) of a Hugging Face folder. Throws TrainerError naming a missing, unknown or misshapen tensor, or one with a value that is not finite. */
export async function loadParameters(folder: string, config: Qwen2Config): Promise<ParameterBlock> {
  const found = new Map<string, NamedTensor>();
  for (const file of await weightFiles(folder)) for (const [name, value] of await readSafetensors(file)) found.set(name, value);
  // Before memory is taken: sizes of a damaged config.json must not decide how much.
  for (const [name, shape] of parameterShapes(config)) {
    const source = found.get(name);
    if (!source) throw new TrainerError('bad_input', `${folder}: the weights have no tensor "${name}", which config.json asks for. The files belong to different models.`);
    if (source.shape.join() !== shape.join()) {
      throw new TrainerError('bad_input', `${folder}: tensor "${name}" has shape [${source.shape.join(', ')}], but config.json asks for [${shape.join(', ')}].`);
    }
    requireFinite(source.data, name, folder);
  }
  const block = allocateParameters(config);
  for (const [name, { data }] of block.tensors) {
    data.set((found.get(name) as NamedTensor).data);
    found.delete(name);
  }
  if (config.tied) found.delete('lm_head.weight'); // some files store the tied copy
  const extra = found.keys().next();
  if (!extra.done) throw new TrainerError('bad_input', `${folder}: tensor "${extra.value}" is not part of a qwen2 model (${found.size} such). Use weights that fit config.json.`);
  return block;
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

function requireFinite(data: Float32Array, name: string, folder: string): void {
  for (let i = 0; i < data.length; i++) {
    if (!Number.isFinite(data[i])) throw new TrainerError('bad_input', `${folder}: tensor "${name}" holds ${data[i]} at position ${i}. The weights are damaged; download them again, or take an earlier checkpoint.`);
  }
}

/** Box and Muller's method. */
function standardNormal(rng: Parameters<typeof uniformFloat64>[0]): number {
  return Math.sqrt(-2 * Math.log(1 - uniformFloat64(rng))) * Math.cos(2 * Math.PI * uniformFloat64(rng));
}
