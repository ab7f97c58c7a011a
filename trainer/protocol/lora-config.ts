import { z } from 'zod';
import { TrainerError } from './errors.ts';

/** Linear layers that LoRA can be given, by the names of PEFT; every family has them all. */
export const loraTargets = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'] as const;
export type LoraTarget = (typeof loraTargets)[number];

/** The layers that `target_modules` names, in the order of `loraTargets`. Throws TrainerError `bad_input` for one that no decoder has, naming the `file` it stands in. */
export function targetsOf(target_modules: 'all-linear' | readonly string[], file?: string): LoraTarget[] {
  if (target_modules === 'all-linear') return [...loraTargets];
  const unknown = target_modules.find((name) => !loraTargets.some((target) => target === name));
  if (unknown !== undefined || target_modules.length === 0) {
    throw new TrainerError('bad_input', `${file === undefined ? '' : `${file}: `}target_modules ${unknown === undefined ? 'names no layer' : `names "${unknown}", which the model does not have`}. Choose among ${loraTargets.join(', ')}, or give "all-linear".`);
  }
  return loraTargets.filter((target) => target_modules.includes(target));
}

const TargetModules = z.union([z.literal('all-linear'), z.array(z.enum(loraTargets)).min(1)], {
  error: ({ input }) => {
    const given: unknown[] = Array.isArray(input) ? input : [input];
    const unknown = given.find((name) => !loraTargets.some((target) => target === name));
    return `${unknown === undefined ? 'names no layer' : `${JSON.stringify(unknown)} is no linear layer`}: give "all-linear", or a list of ${loraTargets.join(', ')}`;
  },
});

/** What the matrices of a frozen model are kept in. */
export const baseTypes = ['float32', 'float16', 'int8', 'int4'] as const;
export type BaseType = (typeof baseTypes)[number];

/** How a model is trained by low-rank factors (LoRA); names as in verl and PEFT, defaults as in verl. */
export const loraSettings = {
  lora_rank: z.number().int().min(0).default(0).describe('Train low-rank factors of this rank beside the model, which stays as it is (LoRA, Hu et al. 2021): a fraction of the memory. 8 to 64 as a rule. 0 = the model itself is trained. A learning rate that is not given is ten times that of full training.'),
  lora_adapter_path: z.string().optional().describe("Go on training the LoRA adapter in this folder (PEFT's layout), relative to the config file, as peft's is_trainable does: rank, alpha and layers are the adapter's, so lora_rank and the others are left out. Without a path the model is the one that its adapter_config.json names."),
  lora_alpha: z.number().positive().default(16).describe('What the factors add is multiplied by lora_alpha / lora_rank.'),
  target_modules: TargetModules.default('all-linear').describe('The layers that get factors.'),
  base_dtype: z.enum(baseTypes, {
    error: ({ input }) => (input === 'bfloat16' ? 'bfloat16 cannot be computed with on this engine: float16 takes the same memory' : `must be one of ${baseTypes.join(', ')}`),
  }).default('float32').describe('What the linear layers of the frozen model are kept in (embeddings and norms stay float32). float16 takes half of the memory, int8 a quarter, int4 an eighth (QLoRA, Dettmers et al. 2023); the factors and all arithmetic stay float32. The result of a run has the rounded weights.'),
  use_rslora: z.boolean().default(false).describe('Multiply by lora_alpha / √lora_rank instead: for high ranks (Kalajdzievski 2023).'),
};

/** The settings that an adapter to go on from brings along. */
export const adapterSettings = ['lora_rank', 'lora_alpha', 'target_modules', 'use_rslora'] as const;

/** Learning rates where none is given: ten times those of full training, as TRL advises. */
export const loraRates = { grpo: 1e-5, sft: 2e-4, dpo: 1e-5 } as const;
