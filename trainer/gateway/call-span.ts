import type { ChatBackendError, ChatCompletion, ChatRequest, EffectiveSampling, SampledTokens } from '../protocol/chat.ts';
import { attr } from '../protocol/span.ts';
import type { AttributeValue, Attributes, Span } from '../protocol/span.ts';
import { newSpanId } from '../store/ids.ts';
import type { Place } from './attribution.ts';

/** What became of a call. `completion` without `sampling` is the part that came before the stream broke off. */
export interface CallResult {
  asked: ChatRequest | null;
  provider: string;
  completion: ChatCompletion | null;
  tokens: SampledTokens | null;
  sampling: EffectiveSampling | null;
  error: ChatBackendError | null;
  /** What else its span says. */
  attributes: Attributes;
}

/** The span of one LLM call. Times are seconds since the epoch. */
export function callSpan(place: Place, start_time: number, end_time: number, result: CallResult): Span {
  const { error, asked } = result;
  return {
    rollout_id: place.rollout.rollout_id,
    attempt_id: place.attempt_id,
    sequence_id: place.sequence_id,
    trace_id: place.trace_id,
    span_id: newSpanId(),
    parent_id: place.parent_id,
    name: asked ? `chat ${asked.model}` : 'chat',
    status: error ? { status_code: 'ERROR', description: error.message } : { status_code: 'OK' },
    attributes: present({
      [attr.operationName]: 'chat',
      [attr.provider]: result.provider,
      [attr.callIndex]: place.call_index,
      ...requestAttributes(asked),
      ...samplingAttributes(result.sampling),
      ...responseAttributes(result.completion),
      ...tokenAttributes(result.tokens),
      [attr.incomplete]: error && result.completion ? true : null,
      [attr.errorType]: error ? (error.code ?? error.type) : null,
      [attr.httpStatus]: error?.status ?? 200,
      ...result.attributes,
    }),
    events: [],
    start_time,
    end_time,
    resource: { attributes: {} },
  };
}

type MaybeAttributes = Record<string, AttributeValue | null | undefined>;

function requestAttributes(asked: ChatRequest | null): MaybeAttributes {
  if (!asked) return {};
  const { model, messages, tools, ...parameters } = asked;
  return {
    [attr.requestModel]: model,
    [attr.inputMessages]: JSON.stringify(messages),
    [attr.toolDefinitions]: tools ? JSON.stringify(tools) : null,
    [attr.requestedParameters]: JSON.stringify(parameters),
  };
}

function samplingAttributes(sampling: EffectiveSampling | null): MaybeAttributes {
  return {
    [attr.requestTemperature]: sampling?.temperature,
    [attr.requestTopP]: sampling?.top_p,
    [attr.requestTopK]: sampling?.top_k,
    [attr.requestMaxTokens]: sampling?.max_tokens,
    [attr.requestSeed]: sampling?.seed,
    [attr.constrained]: sampling?.constrained ? true : null,
    [attr.outputFormat]: sampling?.format,
    [attr.requestStop]: sampling?.stop.length ? sampling.stop : null,
  };
}

function responseAttributes(completion: ChatCompletion | null): MaybeAttributes {
  if (!completion) return {};
  const reasons = completion.choices.flatMap((choice) => choice.finish_reason ?? []);
  return {
    [attr.responseModel]: completion.model,
    [attr.responseId]: completion.id,
    [attr.outputMessages]: JSON.stringify(completion.choices.map((choice) => choice.message)),
    [attr.finishReasons]: reasons.length > 0 ? reasons : null,
    [attr.inputTokens]: completion.usage?.prompt_tokens,
    [attr.outputTokens]: completion.usage?.completion_tokens,
  };
}

function tokenAttributes(tokens: SampledTokens | null): MaybeAttributes {
  return {
    [attr.promptTokenIds]: tokens?.prompt_token_ids,
    [attr.responseTokenIds]: tokens?.response_token_ids,
    [attr.responseLogprobs]: tokens?.response_logprobs,
    [attr.policyVersion]: tokens?.policy_version,
  };
}

function present(attributes: MaybeAttributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter((entry): entry is [string, AttributeValue] => entry[1] != null));
}
