import { EventSourceParserStream } from 'eventsource-parser/stream';
import { z } from 'zod';
import { ChatBackendError, ChatChunk, ChatCompletion } from '../protocol/chat.ts';
import type { CallContext, ChatBackend, ChatEvent, ChatRequest } from '../protocol/chat.ts';
import { chunksOf } from './agent-view.ts';
import { ChunkAssembler } from './chunk-assembler.ts';
import { IdleTimer } from './idle-timer.ts';
import { defaultRetry, withRetry } from './retry.ts';
import type { RetrySettings } from './retry.ts';
import { sampledTokens } from './sampled-tokens.ts';
import { connectionError, malformedAnswer, streamedError, upstreamError } from './upstream-error.ts';
import { AddedParameters, samplingOf } from './upstream-request.ts';

export interface OpenAIBackendOptions {
  /** Ends in /v1. */
  baseUrl: string;
  apiKey?: string | null;
  /** The one model to serve; default: whatever the server lists. */
  model?: string | null;
  retry?: Partial<RetrySettings>;
  /** Longest silence of the server, before its answer and within it. */
  idleTimeoutMs?: number;
}

const ModelList = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) });

type Answer = { completion: ChatCompletion } | { chunks: AsyncIterable<ChatChunk> };

/** Any OpenAI-compatible server. Tries again on 429, 5xx, timeouts and broken connections, but never after the first chunk was handed on. */
export class OpenAIBackend implements ChatBackend {
  readonly provider = 'openai';
  readonly #baseUrl: string;
  readonly #apiKey: string | null;
  readonly #retry: RetrySettings;
  readonly #idleTimeoutMs: number;
  readonly #added = new AddedParameters();
  #models: string[] | null;

  constructor(options: OpenAIBackendOptions) {
    this.#baseUrl = options.baseUrl.replace(/\/+$/, '');
    this.#apiKey = options.apiKey ?? null;
    this.#models = options.model == null ? null : [options.model];
    this.#retry = { ...defaultRetry, ...options.retry };
    this.#idleTimeoutMs = options.idleTimeoutMs ?? 300_000;
  }

  async models(): Promise<string[]> {
    return (this.#models ??= await withRetry(() => this.#listModels(), this.#retry, new AbortController().signal));
  }

  async *chat(request: ChatRequest, context: CallContext): AsyncIterable<ChatEvent> {
    const answer = await withRetry(() => this.#try(request, context.signal), this.#retry, context.signal);
    let completion: ChatCompletion | null;
    if ('completion' in answer) {
      completion = answer.completion;
      // Some servers answer a streaming request in one piece.
      if (request.stream === true) for (const chunk of chunksOf(completion)) yield { type: 'chunk', chunk };
    } else {
      const assembler = new ChunkAssembler();
      for await (const chunk of answer.chunks) {
        assembler.add(chunk);
        yield { type: 'chunk', chunk };
      }
      completion = assembler.finished ? assembler.completion() : null;
    }
    if (completion === null) throw this.#interrupted();
    const sampling = samplingOf(request);
    yield { type: 'done', completion, tokens: sampledTokens(completion, sampling), sampling };
  }

  async #try(request: ChatRequest, signal: AbortSignal): Promise<Answer> {
    for (;;) {
      const { body, added } = this.#added.body(request);
      try {
        return await this.#post(body, signal);
      } catch (error) {
        if (!this.#added.learn(error, added)) throw error;
      }
    }
  }

  async #post(body: Record<string, unknown>, signal: AbortSignal): Promise<Answer> {
    const idle = new IdleTimer(this.#idleTimeoutMs, signal);
    const response = await this.#fetch('/chat/completions', idle, { method: 'POST', body: JSON.stringify(body) });
    if (!response.headers.get('content-type')?.includes('text/event-stream')) {
      return { completion: this.#parse(ChatCompletion, await this.#text(response, idle)) };
    }
    const chunks = this.#chunks(response, idle);
    const first = await chunks.next();
    if (first.done === true) throw this.#interrupted();
    return { chunks: resumed(first.value, chunks) };
  }

  async *#chunks(response: Response, idle: IdleTimer): AsyncGenerator<ChatChunk, void> {
    if (!response.body) throw this.#interrupted();
    const reader = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader();
    try {
      for (;;) {
        const event = await this.#guard(idle, () => reader.read());
        if (event.done || event.value.data === '[DONE]') return;
        yield this.#parse(ChatChunk, event.value.data);
      }
    } finally {
      await reader.cancel().catch(() => undefined); // already broken: nothing left to cancel
    }
  }

  async #listModels(): Promise<string[]> {
    const idle = new IdleTimer(this.#idleTimeoutMs, new AbortController().signal);
    const response = await this.#fetch('/models', idle, {});
    return this.#parse(ModelList, await this.#text(response, idle)).data.map((model) => model.id);
  }

  async #fetch(path: string, idle: IdleTimer, init: RequestInit): Promise<Response> {
    const headers = { 'content-type': 'application/json', ...bearerOf(this.#apiKey) };
    const response = await this.#guard(idle, () => fetch(this.#baseUrl + path, { ...init, headers, signal: idle.signal }));
    if (response.ok) return response;
    throw upstreamError(this.#baseUrl, response.status, this.#withoutKey(await this.#text(response, idle)), response.headers.get('retry-after'));
  }

  #text(response: Response, idle: IdleTimer): Promise<string> {
    return this.#guard(idle, () => response.text());
  }

  /** Turns what the network throws into an error with a status. The caller's own abort passes as it is. */
  async #guard<T>(idle: IdleTimer, work: () => Promise<T>): Promise<T> {
    try {
      return await idle.limit(work);
    } catch (error) {
      if (idle.abortedByCaller) throw error;
      throw connectionError(this.#baseUrl, error, idle.expired);
    }
  }

  #parse<T>(schema: z.ZodType<T>, text: string): T {
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      throw malformedAnswer(this.#baseUrl, JSON.stringify(text.slice(0, 200)));
    }
    const error = streamedError(this.#baseUrl, json);
    if (error) throw error;
    const parsed = schema.safeParse(json);
    if (!parsed.success) throw malformedAnswer(this.#baseUrl, z.prettifyError(parsed.error).replaceAll('\n', ' '));
    return parsed.data;
  }

  #interrupted(): ChatBackendError {
    return new ChatBackendError(502, 'server_error', `The model server at ${this.#baseUrl} broke off its answer.`, { code: 'upstream_interrupted' });
  }

  /** Some servers quote the key they refuse; it must not get into traces. */
  #withoutKey(text: string): string {
    return this.#apiKey ? text.replaceAll(this.#apiKey, '[key]') : text;
  }
}

export function bearerOf(key: string | null): { authorization?: string } {
  return key === null ? {} : { authorization: `Bearer ${key}` };
}

async function* resumed(first: ChatChunk, rest: AsyncGenerator<ChatChunk, void>): AsyncGenerator<ChatChunk, void> {
  try {
    yield first;
    yield* rest;
  } finally {
    await rest.return();
  }
}
