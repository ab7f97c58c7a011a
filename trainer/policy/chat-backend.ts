import { randomInt } from 'node:crypto';
import { ChatBackendError, type CallContext, type ChatBackend, type ChatEvent, type ChatRequest } from '../protocol/chat.ts';
import { messageOf } from '../protocol/errors.ts';
import { Answer } from './answer.ts';
import type { ChatSample, SampleMessage } from './messages.ts';
import { outputFormat, type OutputFormat } from './output-format.ts';
import type { PolicyClient } from './policy-client.ts';
import { uniforms } from './random.ts';

interface Parts { name: string; client: PolicyClient; seed: number | null }

/** The local policy as an OpenAI-compatible model: has the conversation rendered and continued, and gives the answer back as it grows. */
export class PolicyBackend implements ChatBackend {
  readonly #parts: Parts;
  readonly #nextSeed: () => number;

  constructor(parts: Parts) {
    this.#parts = parts;
    const uniform = parts.seed === null ? null : uniforms(parts.seed);
    this.#nextSeed = uniform ? () => Math.floor(uniform() * 2 ** 32) : () => randomInt(2 ** 32);
  }

  async models(): Promise<string[]> { return [this.#parts.name]; }

  async *chat(request: ChatRequest, context: CallContext): AsyncGenerator<ChatEvent> {
    if ((request.n ?? 1) > 1) throw invalid('The local model answers once per request. Send the request n times instead of setting "n".', { param: 'n' });
    const format = outputFormat(request);
    const tools = request.tools?.length && request.tool_choice !== 'none' ? request.tools : null;
    const sampling = this.#sampling(request, context, tools, format);
    const queue = new MessageQueue(context.signal);
    const cancel = this.#start(sampling, queue);
    try {
      const begun = await queue.next();
      if (begun.type !== 'prompt') throw refusal(begun);
      const { prompt, max_tokens } = begun;
      const answer = new Answer(this.#parts.client.tokens, request, { model: request.model, prompt, stop: sampling.stop, parseTools: tools !== null });
      for (;;) {
        const message = await queue.next();
        if (message.type !== 'token' && message.type !== 'done') throw refusal(message);
        const chunks = message.type === 'token' ? answer.add(message.token) : answer.finish(message.finish, message.cached);
        if (request.stream) for (const chunk of chunks) yield { type: 'chunk', chunk };
        if (message.type !== 'done') continue;
        const { temperature, top_p, top_k, seed, stop } = sampling;
        yield { type: 'done', completion: answer.completion(), tokens: answer.sampled(message.version), sampling: { temperature, top_p, top_k, max_tokens, seed, stop, constrained: format !== null, ...(format ? { format: JSON.stringify(format) } : {}) } };
        return;
      }
    } finally {
      cancel();
    }
  }

  #start(sampling: Omit<ChatSample, 'id'>, queue: MessageQueue): () => void {
    try {
      return this.#parts.client.sample(sampling, (message) => queue.push(message));
    } catch (error) {
      throw new ChatBackendError(503, 'server_error', messageOf(error), { cause: error });
    }
  }

  #sampling(request: ChatRequest, context: CallContext, tools: unknown[] | null, format: OutputFormat | null): Omit<ChatSample, 'id'> {
    return {
      messages: request.messages,
      tools,
      format,
      temperature: request.temperature ?? 1,
      top_p: request.top_p ?? 1,
      top_k: request.top_k ?? 0,
      max_tokens: request.max_completion_tokens ?? request.max_tokens ?? null,
      seed: context.seed ?? request.seed ?? this.#nextSeed(),
      stop: typeof request.stop === 'string' ? [request.stop] : request.stop ?? [],
      dtype: context.dtype ?? 'float32',
      top_logprobs: request.logprobs ? request.top_logprobs ?? 0 : 0,
    };
  }
}

/** Messages in order for one reader; a call given up rejects the reader. */
class MessageQueue {
  readonly #signal: AbortSignal;
  readonly #messages: SampleMessage[] = [];
  #wake: () => void = () => undefined;

  constructor(signal: AbortSignal) { this.#signal = signal; }

  push(message: SampleMessage): void {
    this.#messages.push(message);
    this.#wake();
  }

  async next(): Promise<SampleMessage> {
    for (;;) {
      this.#signal.throwIfAborted();
      const message = this.#messages.shift();
      if (message) return message;
      await new Promise<void>((resolve) => {
        const done = () => {
          this.#signal.removeEventListener('abort', done);
          resolve();
        };
        this.#wake = done;
        this.#signal.addEventListener('abort', done, { once: true });
      });
    }
  }
}

/** What went wrong in the thread, in OpenAI's terms. */
function refusal(message: SampleMessage): ChatBackendError {
  if (message.type === 'failed') return new ChatBackendError(500, 'server_error', message.error.message);
  if (message.type !== 'invalid') return new ChatBackendError(500, 'server_error', `The policy's thread said "${message.type}" out of turn.`);
  const { code, param = 'messages' } = message.error.details ?? {};
  return invalid(message.error.message, { ...(typeof param === 'string' ? { param } : {}), ...(typeof code === 'string' ? { code } : {}) });
}

function invalid(message: string, options: { code?: string; param?: string }): ChatBackendError {
  return new ChatBackendError(400, 'invalid_request_error', message, options);
}
