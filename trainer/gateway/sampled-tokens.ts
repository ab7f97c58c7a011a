import { z } from 'zod';
import type { ChatCompletion, EffectiveSampling, SampledTokens } from '../protocol/chat.ts';

const TokenLogprobs = z.looseObject({ content: z.array(z.looseObject({ logprob: z.number() })) });

/**
 * Token ids and log-probabilities a server reported with a completion; null without ids or with several choices.
 * Servers report log-probabilities of the model's own distribution, before temperature and truncation: they are kept
 * only where that is the one sampled from (temperature 1, no top-p, no top-k, no format).
 */
export function sampledTokens(completion: ChatCompletion, sampling: EffectiveSampling): SampledTokens | null {
  const [choice, ...others] = completion.choices;
  if (!choice?.token_ids || !completion.prompt_token_ids || others.length > 0) return null;
  return {
    prompt_token_ids: completion.prompt_token_ids,
    response_token_ids: choice.token_ids,
    response_logprobs: isUntouched(sampling) ? logprobsOf(choice.logprobs, choice.token_ids.length) : null,
    policy_version: null,
  };
}

function isUntouched(sampling: EffectiveSampling): boolean {
  return sampling.temperature === 1 && sampling.top_p === 1 && sampling.top_k === 0 && !sampling.constrained;
}

function logprobsOf(logprobs: unknown, tokens: number): number[] | null {
  const content = TokenLogprobs.safeParse(logprobs).data?.content;
  return content?.length === tokens ? content.map((token) => token.logprob) : null;
}
