import { randomInt } from 'node:crypto';
import { ChatBackendError, type CallContext, type ChatBackend, type ChatEvent, type ChatRequest } from '../protocol/chat.ts';
import { TrainerError, messageOf } from '../protocol/errors.ts';
import type { ModelTokenizer } from '../models/tokenizer.ts';
import { Answer } from './answer.ts';
import type { SampleMessage } from './messages.ts';
import type { PolicyClient } from './policy-client.ts';
import { uniforms } from './random.ts';
import type { SampleRequest } from './sampler.ts';

interface Parts { name: string; client: PolicyClient; tokenizer: ModelTokenizer; contextLength: number; seed: number | null }

/** The local policy as an OpenAI-compatible model: renders the conversation, samples, and gives the answer back as it grows. */
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
    const { tokenizer } = this.#parts;
    if ((request.n ?? 1) > 1) throw invalid('The local model answers once per request. Send the request n times instead of setting "n".', { param: 'n' });
    const tools = request.tools?.length && request.tool_choice !== 'none' ? request.tools : null;
    const prompt = this.#prompt(request, tools);
    const sampling = this.#sampling(request, context, prompt);
    const answer = new Answer(tokenizer, request, { model: request.model, prompt, stop: sampling.stop, parseTools: tools !== null });
    const queue = new MessageQueue(context.signal);
    const cancel = this.#start(sampling, queue);
    try {
      for (;;) {
        const message = await queue.next();
        if (message.type === 'failed') throw new ChatBackendError(500, 'server_error', message.error.message);
        const chunks = message.type === 'token' ? answer.add(message.token) : answer.finish(message.finish);
        if (request.stream) for (const chunk of chunks) yield { type: 'chunk', chunk };
        if (message.type !== 'done') continue;
        const { temperature, top_p, top_k, max_tokens, seed, stop } = sampling;
        yield { type: 'done', completion: answer.completion(), tokens: answer.sampled(message.version), sampling: { temperature, top_p, top_k, max_tokens, seed, stop } };
        return;
      }
    } finally {
      cancel();
    }
  }

  #start(sampling: Omit<SampleRequest, 'id'>, queue: MessageQueue): () => void {
    try {
      return this.#parts.client.sample(sampling, (message) => queue.push(message));
    } catch (error) {
      throw new ChatBackendError(503, 'server_error', messageOf(error), { cause: error });
    }
  }

  #prompt(request: ChatRequest, tools: readonly unknown[] | null): number[] {
    const { tokenizer, contextLength } = this.#parts;
    let prompt: number[];
    try {
      prompt = tokenizer.encode(tokenizer.renderChat(request.messages, tools));
    } catch (error) {
      if (error instanceof TrainerError) throw invalid(error.message, { param: 'messages' });
      throw error;
    }
    if (prompt.length >= contextLength) {
      throw invalid(`This model's context holds ${contextLength} tokens, and the messages have ${prompt.length}. Shorten the messages.`, { code: 'context_length_exceeded', param: 'messages' });
    }
    return prompt;
  }

  #sampling(request: ChatRequest, context: CallContext, prompt: number[]): Omit<SampleRequest, 'id'> {
    const room = this.#parts.contextLength - prompt.length;
    return {
      prompt,
      temperature: request.temperature ?? 1,
      top_p: request.top_p ?? 1,
      top_k: request.top_k ?? 0,
      max_tokens: Math.min(request.max_completion_tokens ?? request.max_tokens ?? room, room),
      seed: context.seed ?? request.seed ?? this.#nextSeed(),
      stop: typeof request.stop === 'string' ? [request.stop] : request.stop ?? [],
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

function invalid(message: string, options: { code?: string; param?: string }): ChatBackendError {
  return new ChatBackendError(400, 'invalid_request_error', message, options);
}
