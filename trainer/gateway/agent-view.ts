import type { ChatChunk, ChatCompletion, ChatRequest } from '../protocol/chat.ts';

/**
 * What the agent gets to see: exactly what it asked for. Log-probabilities and token ids are asked of the
 * model for our own record; they go to the agent only if its own request names them.
 */
export class AgentView {
  readonly #request: ChatRequest;

  constructor(request: ChatRequest) {
    this.#request = request;
  }

  completion(completion: ChatCompletion): ChatCompletion {
    return this.#trim(completion);
  }

  /** null: nothing in it for the agent. Usage is sent once, at the end, and only if asked for. */
  chunk(chunk: ChatChunk): ChatChunk | null {
    if (chunk.choices.length === 0) return null;
    const seen = this.#trim(chunk);
    delete seen.usage;
    return this.#wantsUsage ? { ...seen, usage: null } : seen;
  }

  /** The closing usage chunk, or null when the agent did not ask for it. */
  usage(completion: ChatCompletion): ChatChunk | null {
    if (!this.#wantsUsage) return null;
    const { id, created, model, usage } = completion;
    return { id, object: 'chat.completion.chunk', created, model, choices: [], usage: usage ?? null };
  }

  get #wantsUsage(): boolean {
    return this.#request.stream_options?.include_usage === true;
  }

  #trim<T extends ChatChunk | ChatCompletion>(message: T): T {
    const keepIds = this.#request.return_token_ids === true;
    const trimmed: Record<string, unknown> = { ...message };
    if (!keepIds) delete trimmed['prompt_token_ids'];
    trimmed['choices'] = message.choices.map((choice) => {
      const kept: Record<string, unknown> = { ...choice };
      if (!keepIds) delete kept['token_ids'];
      if (this.#request.logprobs !== true) delete kept['logprobs'];
      return kept;
    });
    return trimmed as T;
  }
}

/** A completion that came in one piece, as the chunks of a stream: one with the message, one with the finish. */
export function chunksOf(completion: ChatCompletion): ChatChunk[] {
  const { id, created, model } = completion;
  const head = { id, object: 'chat.completion.chunk', created, model };
  return completion.choices.flatMap((choice) => {
    const { message, finish_reason, ...rest } = choice;
    const tool_calls = message.tool_calls?.map((call, index) => ({ index, ...call }));
    return [
      { ...head, choices: [{ ...rest, delta: { ...message, ...(tool_calls ? { tool_calls } : {}) }, finish_reason: null }] },
      { ...head, choices: [{ index: choice.index, delta: {}, finish_reason }] },
    ];
  });
}
