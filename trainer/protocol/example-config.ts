import { z } from 'zod';
import { optimizerSettings } from './grpo-config.ts';

const runs = z.array(z.string()).min(1).describe('Earlier runs of this workspace, by their ids. Tasks of the validation side are left out.');

/** Learning from examples; defaults as in TRL. Neither kind makes rollouts: those are for the evaluation before and after. */
const exampleSettings = {
  steps: z.number().int().min(1).default(100).describe('Optimiser steps; the number of examples divided by train_batch_size makes an epoch.'),
  agent_match: z.string().optional().describe('Of earlier runs, only the LLM calls of agents whose name (nearest enclosing operation) matches this regular expression.'),
  ...optimizerSettings,
  lr_schedule: optimizerSettings.lr_schedule.unwrap().default('linear').describe('How the learning rate goes on after the warm-up.'),
};

/** Supervised fine-tuning. */
export const SftConfig = z.strictObject({
  data: z.union([
    z.string().describe('A JSONL file of {"messages": [...]} or {"prompt": [...], "completion": [...]}, chat messages as in OpenAI\'s API, "tools" if there are any. The assistant\'s messages are learned, or those of the completion.'),
    z.strictObject({ runs, min_reward: z.number().describe('Rollouts with at least this reward are learned from.') }),
  ]).describe('A JSONL file of conversations, relative to the config file, or the good rollouts of earlier runs: {"runs": [...], "min_reward": 1}.'),
  train_batch_size: z.number().int().min(1).default(8).describe('Examples per step.'),
  lr: z.number().positive().default(2e-5).describe('Learning rate of AdamW. With model.lora_rank the default is 2e-4.'),
  ...exampleSettings,
});
export type SftConfig = z.infer<typeof SftConfig>;

/** Direct preference optimisation. */
export const DpoConfig = z.strictObject({
  data: z.union([
    z.string().describe('A JSONL file of {"prompt": [...], "chosen": [...], "rejected": [...]}, chat messages as in OpenAI\'s API, "tools" if there are any.'),
    z.strictObject({ runs }),
  ]).describe('A JSONL file of preference pairs, relative to the config file, or earlier runs: {"runs": [...]}. There, of the answers to the same messages, the one whose rollout earned most is preferred to the one whose rollout earned least.'),
  train_batch_size: z.number().int().min(1).default(8).describe('Pairs per step.'),
  lr: z.number().positive().default(1e-6).describe('Learning rate of AdamW. With model.lora_rank the default is 1e-5.'),
  beta: z.number().positive().default(0.1).describe('How strongly the untrained model holds the policy back.'),
  ...exampleSettings,
});
export type DpoConfig = z.infer<typeof DpoConfig>;
