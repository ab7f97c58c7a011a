import { z } from 'zod';
import type { RolloutMode, SamplingDtype } from './rollout.ts';

/** OpenAI chat completions, as much as we interpret. Unknown fields pass through (`looseObject`). */
export const ChatMessage = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() })), z.null()]).optional(),
  name: z.string().optional(),
  tool_calls: z.array(z.looseObject({
    id: z.string(), type: z.literal('function'), function: z.looseObject({ name: z.string(), arguments: z.string() }),
  })).optional(),
  tool_call_id: z.string().optional(),
});
export type ChatMessage = z.infer<typeof ChatMessage>;

export const ChatRequest = z.looseObject({
  model: z.string(),
  messages: z.array(ChatMessage).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.number().int().min(0).nullish(),
  max_tokens: z.number().int().min(1).nullish(),
  max_completion_tokens: z.number().int().min(1).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  seed: z.number().int().nullish(),
  n: z.number().int().min(1).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.number().int().min(0).max(20).nullish(),
  tools: z.array(z.looseObject({ type: z.string() })).nullish(),
  tool_choice: z.unknown().optional(),
  user: z.string().nullish(),
});
export type ChatRequest = z.infer<typeof ChatRequest>;

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  /** Tokens of the prompt that were not computed for this request. */
  prompt_tokens_details?: { cached_tokens: number };
}

export const ChatCompletion = z.looseObject({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.number(),
  model: z.string(),
  choices: z.array(z.looseObject({
    index: z.number(),
    message: z.looseObject({ role: z.string(), content: z.string().nullish(), tool_calls: ChatMessage.shape.tool_calls.nullish() }),
    finish_reason: z.string().nullable(),
    logprobs: z.unknown().optional(),
    token_ids: z.array(z.number()).nullish(), // vLLM's return_token_ids
  })),
  usage: z.looseObject({ prompt_tokens: z.number(), completion_tokens: z.number(), total_tokens: z.number() }).nullish(),
  prompt_token_ids: z.array(z.number()).nullish(),
});
export type ChatCompletion = z.infer<typeof ChatCompletion>;

/** One server-sent event of a streamed completion (`object: "chat.completion.chunk"`). */
export const ChatChunk = z.looseObject({
  id: z.string(),
  object: z.string(),
  created: z.number(),
  model: z.string(),
  choices: z.array(z.looseObject({
    index: z.number(),
    delta: z.looseObject({ role: z.string().nullish(), content: z.string().nullish() }),
    finish_reason: z.string().nullish(),
  })),
  usage: z.unknown().optional(),
});
export type ChatChunk = z.infer<typeof ChatChunk>;

/** What training needs of a call: ids and log-probabilities exactly as sampled. Never re-encoded text. */
export interface SampledTokens {
  prompt_token_ids: number[];
  response_token_ids: number[];
  /** Log-probability of each response token under the distribution it was drawn from (after temperature). null: the server did not say. */
  response_logprobs: number[] | null;
  policy_version: number | null;
}

/** The parameters a call was really sampled with. null: nobody said and the server's default is unknown (max_tokens, seed: none). */
export interface EffectiveSampling {
  temperature: number | null;
  top_p: number | null;
  top_k: number | null; // 0 = off
  max_tokens: number | null;
  seed: number | null;
  stop: string[];
  /** Only tokens that fit a format could be drawn. */
  constrained: boolean;
  /** The format they had to fit, as the local policy can read it again; absent: none, or known to the server alone. */
  format?: string | undefined;
}

/** Who calls, and what the gateway decided for the call. */
export interface CallContext {
  rollout_id: string | null;
  attempt_id: string | null;
  mode: RolloutMode | null;
  /** Seed for this very call; null = random. */
  seed: number | null;
  /** What the local policy samples with; absent: float32. */
  dtype?: SamplingDtype | undefined;
  signal: AbortSignal;
}

/** A backend yields chunks as they come, then exactly one `done` with the assembled completion. */
export type ChatEvent =
  | { type: 'chunk'; chunk: ChatChunk }
  | { type: 'done'; completion: ChatCompletion; tokens: SampledTokens | null; sampling: EffectiveSampling };

/**
 * Something that answers chat requests: the local policy, or any OpenAI-compatible endpoint.
 * Throws ChatBackendError; the gateway turns that into OpenAI's error shape.
 */
export interface ChatBackend {
  /** `gen_ai.provider.name` of its calls; absent for the local policy. */
  readonly provider?: string;
  /** The model names it answers to; the first is its default. */
  models(): Promise<string[]>;
  /** `request` already carries the overrides of the rollout. */
  chat(request: ChatRequest, context: CallContext): AsyncIterable<ChatEvent>;
}

/** An error in OpenAI's terms. `status` is the HTTP status to answer with. */
export class ChatBackendError extends Error {
  override readonly name = 'ChatBackendError';
  readonly status: number;
  readonly type: string; // e.g. 'invalid_request_error'
  readonly code: string | null; // e.g. 'context_length_exceeded'
  readonly param: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(status: number, type: string, message: string, options: { code?: string; param?: string; retryAfterSeconds?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.status = status;
    this.type = type;
    this.code = options.code ?? null;
    this.param = options.param ?? null;
    this.retryAfterSeconds = options.retryAfterSeconds ?? null;
  }
}
