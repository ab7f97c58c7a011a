import { existsSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { allocateBlock } from '../../engine/parameter-block.ts';
import { wrap } from '../../engine/tensor.ts';
import { readJson } from '../../models/config.ts';
import { addFactors, type Adapter } from '../../models/lora.ts';
import { decodeValues, encodeValues, type TensorBytes } from '../../models/safetensors.ts';
import { TrainerError } from '../../protocol/errors.ts';
import { targetsOf } from '../../protocol/lora-config.ts';
import { parseAs } from '../../protocol/validate.ts';

/** Rank and alpha, which verl writes beside the shards. */
const metaFile = 'lora_train_meta.json';
const Meta = z.looseObject({ r: z.number().int().min(1), lora_alpha: z.number() });

/** The names that parameters have in a model that PEFT has wrapped. */
const prefix = 'base_model.model.';
const factorName = /\.(\w+)\.lora_[AB](?:\.\w+)?\.weight$/;

/**
 * Takes the tensors of a checkpoint in `folder` apart: those of the model by its own names, and the adapter that was trained beside it; null: none was.
 * The factors are read, the model is not. Throws TrainerError naming file and tensor.
 */
export async function withoutLora(tensors: readonly TensorBytes[], folder: string): Promise<{ model: TensorBytes[]; adapter: Adapter | null }> {
  const factors = tensors.filter(({ name }) => name.includes('lora_'));
  if (factors.length === 0) return { model: [...tensors], adapter: null };
  const file = path.join(folder, metaFile);
  if (!existsSync(file)) throw new TrainerError('not_found', `${folder} holds a LoRA adapter, and no ${metaFile}, which says what its factors are multiplied by. Write one with the settings of the training: {"r": …, "lora_alpha": …}.`);
  const { r: rank, lora_alpha: alpha } = parseAs(Meta, await readJson(file), file);
  const refuse = (name: string, problem: string) => new TrainerError('bad_input', `${folder} cannot be converted: tensor "${name}" ${problem}.`);

  const block = allocateBlock(factors.map(({ name, shape }) => [ownName(name), shape] as const));
  const modules = new Set<string>();
  for (const factor of factors) {
    const [, module] = factorName.exec(factor.name) ?? [];
    if (module === undefined) throw refuse(factor.name, 'is no factor of a linear layer, which is all of LoRA that can be read');
    const own = ownName(factor.name);
    const isDown = own.endsWith('.lora_A.weight');
    if (factor.shape.length !== 2 || factor.shape[isDown ? 0 : 1] !== rank) throw refuse(factor.name, `has shape [${factor.shape.join(', ')}], but ${metaFile} says that the rank is ${rank}`);
    if (!block.tensors.has(isDown ? own.replace('.lora_A.', '.lora_B.') : own.replace('.lora_B.', '.lora_A.'))) throw refuse(factor.name, 'has no counterpart');
    modules.add(module);
    block.tensors.get(own)!.data.set(await valuesOf(factor));
  }
  const adapter = { settings: { rank, alpha, targets: targetsOf([...modules], folder), rslora: false }, factors: block };
  const model = tensors.filter((tensor) => !factors.includes(tensor)).map((tensor) => ({ ...tensor, name: ownName(tensor.name) }));
  return { model, adapter };
}

/** The tensors with the factors added, in their own types; each is in memory alone. Throws TrainerError when the adapter does not fit the model. */
export function mergedWith(adapter: Adapter, model: readonly TensorBytes[], folder: string): TensorBytes[] {
  const shapes = new Map(model.map(({ name, shape }) => [name, shape]));
  const factors = adapter.factors.tensors;
  for (const [name, { shape: [, input] }] of factors) {
    if (!name.endsWith('.lora_A.weight')) continue;
    const matrix = name.replace('.lora_A.', '.');
    const out = factors.get(name.replace('.lora_A.', '.lora_B.'))?.shape[0];
    if (shapes.get(matrix)?.join() !== [out, input].join()) throw new TrainerError('bad_input', `${folder} cannot be converted: the factors of "${matrix}" make a matrix of shape [${out}, ${input}], but the model's ${shapes.has(matrix) ? `has shape [${shapes.get(matrix)?.join(', ')}]` : 'is missing'}.`);
  }
  return model.map((tensor) => (factors.has(tensor.name.replace(/\.weight$/, '.lora_A.weight')) ? { ...tensor, parts: () => withFactorsAdded(tensor, adapter) } : tensor));
}

async function* withFactorsAdded(tensor: TensorBytes, adapter: Adapter): AsyncIterable<Uint8Array> {
  const data = await valuesOf(tensor);
  addFactors(tensor.name, wrap('float32', tensor.shape, data), adapter);
  yield encodeValues(tensor.dtype, data);
}

function ownName(name: string): string {
  return (name.startsWith(prefix) ? name.slice(prefix.length) : name).replace('.base_layer.', '.').replace(/\.(lora_[AB])\.\w+\.weight$/, '.$1.weight');
}

async function valuesOf({ dtype, shape, parts }: TensorBytes): Promise<Float32Array> {
  const values = new Float32Array(shape.reduce((a, b) => a * b, 1));
  const bytes: Uint8Array[] = [];
  for await (const part of parts()) bytes.push(Uint8Array.from(part));
  decodeValues(dtype, Buffer.concat(bytes), values);
  return values;
}
