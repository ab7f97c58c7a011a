import { z } from 'zod';

/**
 * Which LLM calls a reward credits.
 * final: the last reward of the attempt, to every call alike, as GRPO trains. per_step: every reward to the call it is
 * linked to. discounted: as per_step, and to the calls before it with a factor gamma per call.
 */
export const CreditRule = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('final') }),
  z.object({ kind: z.literal('per_step') }),
  z.object({ kind: z.literal('discounted'), gamma: z.number().gt(0).max(1) }),
]);
export type CreditRule = z.infer<typeof CreditRule>;

/** Span id of a reward → span ids of the calls it credits, in place of the ones found by the rule. */
export const RewardLinks = z.record(z.string(), z.array(z.string()));
export type RewardLinks = z.infer<typeof RewardLinks>;

export const CreditSettings = z.object({ rule: CreditRule, links: RewardLinks });
export type CreditSettings = z.infer<typeof CreditSettings>;

export const LinkedReward = z.object({ span_id: z.string(), name: z.string(), value: z.number(), calls: z.array(z.string()), linked: z.enum(['rule', 'hand']) });
export type LinkedReward = z.infer<typeof LinkedReward>;

export const CreditedCall = z.object({
  span_id: z.string(),
  call_index: z.number().int(),
  /** null: no reward credits it. Not the same as 0. */
  credit: z.number().nullable(),
  from: z.array(z.object({ reward: z.string(), share: z.number() })),
});
export type CreditedCall = z.infer<typeof CreditedCall>;

/** The credit of one attempt, and what training makes of it in comparison with the attempt's group. */
export const TraceCredit = z.object({
  settings: CreditSettings,
  rewards: z.array(LinkedReward),
  calls: z.array(CreditedCall.extend({ advantage: z.number().nullable() })),
  /** Scored rollouts compared. */
  group: z.number().int(),
  /** Why there is no advantage. */
  reason: z.string().nullable(),
});
export type TraceCredit = z.infer<typeof TraceCredit>;

/** The tokens of one call as text. Log-probabilities in nats; null where unknown. */
export const CallTokens = z.object({
  prompt: z.array(z.string()),
  response: z.array(z.object({ id: z.number().int(), text: z.string(), logprob: z.number().nullable(), advantage: z.number().nullable() })),
  /** Why advantages are missing. */
  reason: z.string().nullable(),
});
export type CallTokens = z.infer<typeof CallTokens>;
