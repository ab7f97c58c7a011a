import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { TrainerError } from '../protocol/errors.ts';
import { targetsOf } from '../protocol/lora-config.ts';
import { parseAs } from '../protocol/validate.ts';
import { readJson } from './config.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { factorShapes, requireRank, type Adapter } from './lora.ts';
import { openSafetensors, writeSafetensors } from './safetensors.ts';
import { allocateBlock } from './weights.ts';

/** The files of an adapter as PEFT writes them. */
const weightsFile = 'adapter_model.safetensors';
const configFile = 'adapter_config.json';
const prefix = 'base_model.model.';

/** What PEFT says of an adapter, as much as decides the computation. */
const AdapterConfig = z.looseObject({
  peft_type: z.literal('LORA'),
  base_model_name_or_path: z.string().nullish(),
  r: z.number().int().min(1),
  lora_alpha: z.number(),
  target_modules: z.union([z.literal('all-linear'), z.array(z.string())], { error: 'must be "all-linear" or a list of layers, not an expression' }),
  use_rslora: z.boolean().default(false),
  use_dora: z.literal(false, { error: 'must be false: DoRA is not supported' }).default(false),
  bias: z.literal('none', { error: 'must be "none": biases are not trained' }).default('none'),
  fan_in_fan_out: z.literal(false).default(false),
  modules_to_save: z.null({ error: 'must be null: whole modules beside the factors are not supported' }).default(null),
  rank_pattern: z.strictObject({}, { error: 'must be empty: every layer has the same rank' }).default({}),
  alpha_pattern: z.strictObject({}, { error: 'must be empty: every layer has the same alpha' }).default({}),
});

/** Writes an adapter to `base` (a path, or a model of the hub; null: not known) into an existing folder, in PEFT's layout. */
export async function writeAdapter(folder: string, { settings: { rank, alpha, targets, rslora }, factors }: Adapter, base: string | null): Promise<void> {
  const config = {
    peft_type: 'LORA', task_type: 'CAUSAL_LM', base_model_name_or_path: base, r: rank, lora_alpha: alpha, lora_dropout: 0, target_modules: targets, use_rslora: rslora,
    use_dora: false, bias: 'none', fan_in_fan_out: false, inference_mode: true, init_lora_weights: true, modules_to_save: null, rank_pattern: {}, alpha_pattern: {},
  };
  await writeFile(path.join(folder, configFile), `${JSON.stringify(config, null, 2)}\n`, { flush: true });
  await writeSafetensors(path.join(folder, weightsFile), new Map([...factors.tensors].map(([name, tensor]) => [prefix + name, tensor])));
}

/** The model that the adapter in a folder is made for, as its configuration names it; null when the folder holds no adapter. */
export async function adapterBase(folder: string): Promise<string | null> {
  const found = await readAdapterConfig(folder);
  if (found && !found.base_model_name_or_path) throw new TrainerError('bad_input', `${path.join(folder, configFile)}: base_model_name_or_path names no model. Name there what the adapter was made for.`);
  return found?.base_model_name_or_path ?? null;
}

/** Reads an adapter in PEFT's layout, made for a model of this configuration. Throws TrainerError naming the file and what is wrong or not supported. */
export async function readAdapter(folder: string, config: DecoderConfig): Promise<Adapter> {
  const found = await readAdapterConfig(folder);
  if (!found) throw new TrainerError('not_found', `There is no ${configFile} in ${folder}.`);
  const settings = { rank: found.r, alpha: found.lora_alpha, targets: targetsOf(found.target_modules, path.join(folder, configFile)), rslora: found.use_rslora };
  requireRank(config, found.r, `${path.join(folder, configFile)}: r`);
  const factors = allocateBlock(factorShapes(config, settings));
  const file = path.join(folder, weightsFile);
  const source = await openSafetensors(file);
  try {
    for (const [name, { data, shape }] of factors.tensors) {
      const there = source.shapes.get(prefix + name);
      if (there?.join() !== shape.join()) throw new TrainerError('bad_input', `${file}: "${prefix}${name}" ${there ? `has shape [${there.join(', ')}], but the model asks for [${shape.join(', ')}]` : 'is missing'}. The adapter belongs to another model.`);
      await source.read(prefix + name, data);
      if (!data.every(Number.isFinite)) throw new TrainerError('bad_input', `${file}: "${prefix}${name}" holds a value that is not finite. The adapter is damaged; take an earlier one.`);
    }
    const extra = [...source.shapes.keys()].find((name) => !name.startsWith(prefix) || !factors.tensors.has(name.slice(prefix.length)));
    if (extra !== undefined) throw new TrainerError('bad_input', `${file}: "${extra}" belongs to no layer that ${configFile} names.`);
  } finally {
    await source.close();
  }
  return { settings, factors };
}

async function readAdapterConfig(folder: string): Promise<z.infer<typeof AdapterConfig> | null> {
  const file = path.join(folder, configFile);
  const json = await readJson(file);
  return json === undefined ? null : parseAs(AdapterConfig, json, file);
}
