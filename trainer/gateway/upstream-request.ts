import type { ChatRequest, EffectiveSampling } from '../protocol/chat.ts';
import { refusedParameters } from './upstream-error.ts';

/** Parameters we add to a request for our own record. A server that refuses one is asked again without it, and it is never sent again. */
export class AddedParameters {
  readonly #refused = new Set<string>();

  /** The body to send, and the names in it that are ours. */
  body(request: ChatRequest): { body: Record<string, unknown>; added: string[] } {
    const body: Record<string, unknown> = { ...request };
    if (request.top_k === 0) delete body['top_k']; // "off"; OpenAI's own servers know no top_k
    const added: string[] = [];
    const add = (name: string, value: unknown) => {
      if (this.#refused.has(name)) return;
      body[name] = value;
      added.push(name);
    };
    if (request.logprobs !== true) add('logprobs', true);
    if (request.return_token_ids !== true) add('return_token_ids', true);
    if (request.stream === true && request.stream_options?.include_usage !== true) add('stream_options', { ...request.stream_options, include_usage: true });
    return { body, added };
  }

  /** Remembers the added parameters the error refuses. True: worth another try without them. */
  learn(error: unknown, added: string[]): boolean {
    const refused = refusedParameters(error, added);
    for (const name of refused) this.#refused.add(name);
    return refused.length > 0;
  }
}

/** What the request asks a server with unknown defaults for. */
export function samplingOf(request: ChatRequest): EffectiveSampling {
  return {
    temperature: request.temperature ?? null,
    top_p: request.top_p ?? null,
    top_k: request.top_k ?? null,
    max_tokens: request.max_completion_tokens ?? request.max_tokens ?? null,
    seed: request.seed ?? null,
    stop: typeof request.stop === 'string' ? [request.stop] : (request.stop ?? []),
    constrained: isConstrained(request),
  };
}

/** Whether the request asks for a format that servers enforce token by token. */
function isConstrained(request: ChatRequest): boolean {
  const format = request['response_format'] as { type?: unknown } | null | undefined;
  const forced = request.tool_choice != null && request.tool_choice !== 'auto' && request.tool_choice !== 'none';
  const strict = request.tool_choice !== 'none' && request.tools?.some((tool) => (tool['function'] as { strict?: unknown } | undefined)?.strict === true);
  return (format != null && format.type !== 'text') || forced || strict === true;
}
