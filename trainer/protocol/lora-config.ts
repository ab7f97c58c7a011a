import { z } from 'zod';

/** Linear layers that LoRA can be given, by the names of PEFT; every family has them all. */
export const loraTargets = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'] as const;
export type LoraTarget = (typeof loraTargets)[number];

const TargetModules = z.union([z.literal('all-linear'), z.array(z.enum(loraTargets)).min(1)], {
  error: ({ input }) => {
    const unknown = (Array.isArray(input) ? input : [input]).find((name) => !loraTargets.some((target) => target === name));
    return `${unknown === undefined ? 'names no layer' : `${JSON.stringify(unknown)} is no linear layer`}: give "all-linear", or a list of ${loraTargets.join(', ')}`;
  },
});

/** How a model is trained by low-rank factors (LoRA); names as in verl and PEFT, defaults as in verl. */
export const loraSettings = {
  lora_rank: z.number().int().min(0).default(0).describe('Train low-rank factors of this rank beside the model, which stays as it is (LoRA, Hu et al. 2021): a fraction of the memory. 8 to 64 as a rule. 0 = the model itself is trained. A learning rate that is not given is ten times that of full training.'),
  lora_alpha: z.number().positive().default(16).describe('What the factors add is multiplied by lora_alpha / lora_rank.'),
  target_modules: TargetModules.default('all-linear').describe('The layers that get factors.'),
  use_rslora: z.boolean().default(false).describe('Multiply by lora_alpha / √lora_rank instead: for high ranks (Kalajdzievski 2023).'),
};

/** Learning rates where none is given: ten times those of full training, as TRL advises. */
export const loraRates = { grpo: 1e-5, sft: 2e-4, dpo: 1e-5 } as const;
