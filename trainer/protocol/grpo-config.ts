import { z } from 'zod';
import { CreditRule } from './credit.ts';

/** What the optimiser needs, whatever it minimises; names as in verl and TRL. */
export const optimizerSettings = {
  lr_schedule: z.enum(['constant', 'linear', 'cosine']).default('constant').describe('How the learning rate goes on after the warm-up.'),
  warmup_steps: z.number().int().min(0).default(0).describe('Steps over which the learning rate rises from 0.'),
  betas: z.tuple([z.number().min(0).lt(1), z.number().min(0).lt(1)]).default([0.9, 0.95]).describe('Decay of the first and second moments of AdamW.'),
  weight_decay: z.number().min(0).default(0).describe('Weight decay of AdamW.'),
  max_grad_norm: z.number().positive().default(1).describe('Longer gradients are scaled down to this norm.'),
  ema_decay: z.number().min(0).lt(1).default(0).describe('The trained model is the moving average of the weights (exponential, over the updates): each update counts 1 - ema_decay. 0 = off: the weights after the last update.'),
  micro_batch_tokens: z.number().int().min(64).default(2048).describe('Tokens per forward/backward (rows are packed into micro-batches up to this; what they have in common at the beginning counts once).'),
  enable_gradient_checkpointing: z.boolean().optional().describe('Keep the inputs of the layers alone for the backward pass and compute the rest again: a fraction of the memory for about a third more time. Default: where activations would take more than half of the memory that is free.'),
  test_freq: z.number().int().min(0).default(0).describe('Validate every n steps (0 = only before and after).'),
};

/** What is learned from groups of rollouts: which advantage. */
const estimation = {
  adv_estimator: z.enum(['grpo', 'rloo', 'reinforce_plus_plus', 'reinforce_plus_plus_baseline']).default('grpo')
    .describe('Advantage of a rollout. grpo: R - mean of its group, scaled by scale_rewards. rloo: R - mean of the others in its group. reinforce_plus_plus: R, whitened over all tokens of the step. reinforce_plus_plus_baseline: R - mean of its group, whitened over all tokens of the step.'),
  scale_rewards: z.enum(['group', 'none']).default('group').describe("With adv_estimator grpo: (R - mean) / (std + eps) with 'group', R - mean with 'none' (Dr. GRPO)."),
  credit: CreditRule.default({ kind: 'final' })
    .describe('Which LLM calls a reward credits. final: the last reward, every call of the rollout alike. per_step: every reward, the last call before it. discounted: as per_step, and the calls before with a factor gamma per call. With per_step and discounted the calls of a group are compared, not its rollouts.'),
  filter_groups: z.strictObject({
    enable: z.boolean().default(false).describe('Replace the groups whose rollouts all earned the same reward by groups of other tasks, until train_batch_size groups teach something (dynamic sampling of DAPO).'),
    max_num_gen_batches: z.number().int().min(1).default(10).describe('At most this many rounds of rollouts per step; then the step trains on what it has.'),
  }).prefault({}),
  overlong_buffer: z.strictObject({
    len: z.number().int().min(0).default(0).describe('Answers longer than sampling.max_tokens less this many tokens are penalised, more the longer they are (overlong reward shaping of DAPO). 0 = off.'),
    penalty_factor: z.number().positive().default(1).describe('What an answer of sampling.max_tokens loses of its reward.'),
  }).prefault({}),
  kl_coef: z.number().min(0).default(0).describe('Weight of the KL divergence from the untrained model (k1, summed over the tokens) that is taken off the reward; 0 = none.'),
};

/** How the policy learns from advantages. */
const loss = {
  clip_ratio_low: z.number().positive().default(0.2).describe('How far an update may lower a token probability, as a share. 3e-4 for GSPO.'),
  clip_ratio_high: z.number().positive().default(0.28).describe('How far it may raise one. 4e-4 for GSPO.'),
  clip_ratio_c: z.number().gt(1).default(3).describe('Dual clip: the loss of a token with a negative advantage A is at most -A times this.'),
  importance_sampling_level: z.enum(['token', 'sequence']).default('token').describe("What is compared with the policy that sampled: each token's probability, or that of whole rows, as the geometric mean of their tokens (GSPO; best with loss_agg_mode seq-mean-token-mean)."),
  ppo_epochs: z.number().int().min(1).default(1).describe('Passes over the same rollouts.'),
  ppo_mini_batch_size: z.number().int().min(1).optional().describe('Tasks per optimiser step; default: all tasks of the training step.'),
  kl_loss_coef: z.number().min(0).default(0).describe('Weight of the KL term in the loss; 0 = none. Without it and kl_coef no reference model is in memory.'),
  kl_loss_type: z.enum(['k1', 'k2', 'k3']).default('k3').describe('Estimator of the KL divergence from the untrained model. k1 has no gradient on average: use kl_coef instead.'),
  entropy_coeff: z.number().min(0).default(0).describe('Weight of the entropy bonus; 0 = none.'),
  loss_agg_mode: z.enum(['token-mean', 'rollout-mean', 'seq-mean-token-mean', 'seq-mean-token-sum', 'seq-mean-token-sum-norm']).default('token-mean')
    .describe('token-mean: every trained token weighs the same (DAPO). rollout-mean: every rollout does. seq-mean-token-mean: every row does (GRPO as published). seq-mean-token-sum: tokens are summed in a row, rows averaged. seq-mean-token-sum-norm: the same, divided by loss_scale_factor (Dr. GRPO).'),
  loss_scale_factor: z.number().positive().optional().describe('The constant of seq-mean-token-sum-norm; default: sampling.max_tokens.'),
  rollout_is: z.enum(['none', 'token', 'sequence']).default('none').describe('Weights of samples by how likely the policy at the start of the update makes them, against the one that sampled them (truncated importance sampling): per token, or per row. For rollouts that are stale, or sampled in another precision.'),
  rollout_is_threshold: z.number().positive().default(2).describe('Larger weights are cut to this.'),
};

/** GRPO and its relatives; names as in verl and TRL. */
export const GrpoConfig = z.strictObject({
  steps: z.number().int().min(1).default(30).describe('Training steps (one policy update each).'),
  train_batch_size: z.number().int().min(1).default(16).describe('Tasks per step.'),
  group_size: z.number().int().min(1).default(8).describe('Rollouts per task (the group, G); at least 2, unless adv_estimator is reinforce_plus_plus.'),
  lr: z.number().positive().default(1e-6).describe('Learning rate of AdamW. A few million parameters learn at 1e-4 to 1e-3, larger models at 1e-6 to 1e-5. With model.lora_rank the default is 1e-5.'),
  ...optimizerSettings,
  ...estimation,
  ...loss,
  max_staleness: z.number().int().min(0).default(0).describe('Rollouts are collected up to this many steps ahead, while earlier ones are learned from, so a policy at most this many updates old samples them. 0: each step samples with the present policy, and runs repeat exactly.'),
  agent_match: z.string().optional().describe('Regular expression on the name of the agent (nearest enclosing operation) that made an LLM call; others are not trained.'),
  trace_aggregation: z.enum(['transition', 'trajectory']).default('trajectory').describe('Rows merged along exact token prefixes, or one row per call.'),
  failed_rollouts: z.enum(['drop', 'zero']).default('drop').describe('What a rollout that ended in agent_error, timeout or context_overflow means: dropped from its group, or a reward of 0. infra_error, unscored and cancelled are always dropped.'),
});
export type GrpoConfig = z.infer<typeof GrpoConfig>;
