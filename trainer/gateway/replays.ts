import { isDeepStrictEqual } from 'node:util';
import { ChatBackendError, ChatCompletion } from '../protocol/chat.ts';
import type { ChatBackend, ChatEvent, ChatMessage, ChatRequest, EffectiveSampling, SampledTokens } from '../protocol/chat.ts';
import { messageOf } from '../protocol/errors.ts';
import type { Replay } from '../protocol/replay.ts';
import { attr, isLlmCall, numbersOf, type Attributes, type Span } from '../protocol/span.ts';
import type { Store } from '../store/store.ts';
import type { Place } from './attribution.ts';

/** How a call of a replayed attempt is served: by the record, or by the model, with the messages the edits leave. */
export interface ReplayedCall {
  asked: ChatRequest;
  /** null: the model answers. */
  recorded: ChatBackend | null;
  /** What the call's span says of it. */
  attributes: Attributes;
}

interface Course { replay: Replay; calls: Map<number, { span: Span; messages: ChatMessage[] }>; originals: ChatMessage[]; live: boolean }

/** Serves attempts that continue a recorded one. Keeps how far each has come until its rollout is over. */
export class Replays {
  readonly #store: Store;
  readonly #courses = new Map<string, Course>();
  readonly stop: () => void;

  constructor(store: Store) {
    this.#store = store;
    this.stop = store.onEvent((event) => {
      if (event.type === 'rollout' && event.rollout.attempt?.end_time != null) this.#courses.delete(event.rollout.attempt.attempt_id);
    });
  }

  /** The call at this place; null when its rollout replays nothing. */
  serve({ rollout, attempt_id, call_index }: Place, asked: ChatRequest): ReplayedCall | null {
    const { replay } = rollout.config;
    if (!replay) return null;
    let course = this.#courses.get(attempt_id);
    if (!course) this.#courses.set(attempt_id, course = this.#open(replay));
    const match = matching(course, asked, call_index);
    if (match) {
      course.calls.delete(match.index);
      const diverged = !isDeepStrictEqual(match.messages, asked.messages);
      return { asked, recorded: recordedBackend(match.span), attributes: { [attr.replayed]: true, ...(diverged ? { [attr.replayDiverged]: true } : {}) } };
    }
    course.live = true;
    const messages = edited(asked.messages, replay, course.originals);
    const changed = messages !== asked.messages;
    return { asked: changed ? { ...asked, messages } : asked, recorded: null, attributes: changed ? { [attr.replayEdited]: true } : {} };
  }

  #open(replay: Replay): Course {
    const calls = new Map<number, { span: Span; messages: ChatMessage[] }>();
    let originals: ChatMessage[] = [];
    this.#store.listSpans(replay.rollout_id, replay.attempt_id).filter(isLlmCall).forEach((span, ordinal) => {
      const index = span.attributes[attr.callIndex];
      const call_index = typeof index === 'number' ? index : ordinal;
      const messages = messagesOf(span, attr.inputMessages);
      if (call_index < replay.call_index) calls.set(call_index, { span, messages });
      if (call_index === replay.call_index) originals = messages;
    });
    return { replay, calls, originals, live: false };
  }
}

/**
 * The recorded call with the same messages (calls may come in another order than recorded when the agent makes several at
 * a time), else, until the chosen call was reached, the one at the same place.
 */
function matching({ calls, originals, live }: Course, asked: ChatRequest, call_index: number): { index: number; span: Span; messages: ChatMessage[] } | null {
  const same = [...calls].find(([, call]) => isDeepStrictEqual(call.messages, asked.messages));
  if (same) return { index: same[0], ...same[1] };
  if (live || isDeepStrictEqual(asked.messages, originals)) return null;
  const call = calls.get(call_index);
  return call ? { index: call_index, ...call } : null;
}

/** Replaces what was edited, in the chosen call and wherever the agent sends the same message at the same place again. */
function edited(messages: ChatMessage[], { edits }: Replay, originals: ChatMessage[]): ChatMessage[] {
  const changes = edits.filter(({ index }) => index < messages.length && isDeepStrictEqual(messages[index], originals[index]));
  if (changes.length === 0) return messages;
  const result = [...messages];
  for (const { index, message } of changes) result[index] = message;
  return result;
}

function messagesOf(span: Span, key: string): ChatMessage[] {
  const text = span.attributes[key];
  return typeof text === 'string' ? JSON.parse(text) as ChatMessage[] : []; // written by the gateway
}

/** A recorded call as a model that answers it once more: the same answer, tokens and error. */
function recordedBackend(span: Span): ChatBackend {
  return {
    provider: String(span.attributes[attr.provider] ?? 'agent_trainer'),
    models: async () => [],
    async *chat(): AsyncIterable<ChatEvent> {
      if (span.status.status_code === 'ERROR') {
        const status = span.attributes[attr.httpStatus];
        throw new ChatBackendError(typeof status === 'number' && status >= 400 ? status : 500, 'server_error', `${span.status.description ?? 'The recorded call failed.'}`, { code: String(span.attributes[attr.errorType] ?? 'recorded_error') });
      }
      yield { type: 'done', completion: completionOf(span), tokens: tokensOf(span), sampling: samplingOf(span) };
    },
  };
}

function completionOf(span: Span): ChatCompletion {
  const { attributes } = span;
  const reasons = attributes[attr.finishReasons];
  const [input, output] = [attributes[attr.inputTokens], attributes[attr.outputTokens]];
  const completion = ChatCompletion.safeParse({
    id: attributes[attr.responseId] ?? `recorded-${span.span_id}`, object: 'chat.completion', created: Math.floor(span.start_time), model: attributes[attr.responseModel] ?? attributes[attr.requestModel] ?? '',
    choices: messagesOf(span, attr.outputMessages).map((message, index) => ({ index, message, finish_reason: Array.isArray(reasons) ? reasons[index] ?? 'stop' : 'stop' })),
    usage: typeof input === 'number' && typeof output === 'number' ? { prompt_tokens: input, completion_tokens: output, total_tokens: input + output } : null,
  });
  if (!completion.success) throw new ChatBackendError(500, 'server_error', `The record of call ${span.span_id} cannot be answered from: ${messageOf(completion.error)}`, { code: 'record_unreadable' });
  return completion.data;
}

function tokensOf(span: Span): SampledTokens | null {
  const [prompt_token_ids, response_token_ids] = [numbersOf(span, attr.promptTokenIds), numbersOf(span, attr.responseTokenIds)];
  if (!prompt_token_ids || !response_token_ids) return null;
  const version = span.attributes[attr.policyVersion];
  return { prompt_token_ids, response_token_ids, response_logprobs: numbersOf(span, attr.responseLogprobs) ?? null, policy_version: typeof version === 'number' ? version : null };
}

function samplingOf({ attributes }: Span): EffectiveSampling {
  const number = (key: string): number | null => (typeof attributes[key] === 'number' ? attributes[key] : null);
  const { [attr.requestStop]: stop, [attr.outputFormat]: format } = attributes;
  return {
    temperature: number(attr.requestTemperature), top_p: number(attr.requestTopP), top_k: number(attr.requestTopK), max_tokens: number(attr.requestMaxTokens), seed: number(attr.requestSeed),
    stop: Array.isArray(stop) ? stop.map(String) : [],
    constrained: attributes[attr.constrained] === true,
    ...(typeof format === 'string' ? { format } : {}),
  };
}
