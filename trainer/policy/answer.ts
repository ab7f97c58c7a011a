import { randomUUID } from 'node:crypto';
import type { ChatChunk, ChatCompletion, ChatRequest, SampledTokens } from '../protocol/chat.ts';
import { StopMatcher, type Detokenizer } from '../models/detokenizer.ts';
import type { TokenReader } from '../models/token-table.ts';
import type { PickedToken } from './sampling.ts';
import type { SampledToken } from './sampler.ts';
import { parseToolCalls, toolCallStart, type ToolCall } from './tool-calls.ts';

/** One answer in OpenAI's shapes, growing token by token. Its text is that of the tokens up to the first stop string, special tokens left out. */
export class Answer {
  readonly #reader: TokenReader;
  readonly #request: ChatRequest;
  readonly #prompt: number[];
  readonly #head: { id: string; created: number; model: string };
  readonly #tokens: SampledToken[] = [];
  readonly #detokenizer: Detokenizer;
  readonly #stops: StopMatcher;
  /** Text from the first tool call on is not streamed: it becomes tool calls, or content if it is malformed. */
  readonly #untilTools: StopMatcher;
  readonly #parseTools: boolean;
  #text = '';
  #sent = 0;
  #parsed: { content: string; calls: ToolCall[] } = { content: '', calls: [] };
  #finish = '';
  #cached = 0;

  constructor(reader: TokenReader, request: ChatRequest, options: { model: string; prompt: number[]; stop: string[]; parseTools: boolean }) {
    this.#reader = reader;
    this.#request = request;
    this.#prompt = options.prompt;
    this.#head = { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model: options.model };
    this.#detokenizer = reader.detokenizer();
    this.#stops = new StopMatcher(options.stop);
    this.#parseTools = options.parseTools;
    this.#untilTools = new StopMatcher(options.parseTools ? [toolCallStart] : []);
  }

  add(token: SampledToken): ChatChunk[] {
    const first = this.#tokens.length === 0 ? [this.#chunk({ role: 'assistant', content: '' }, null)] : [];
    this.#tokens.push(token);
    return [...first, ...this.#grow(this.#stops.push(this.#detokenizer.push(token.token)))];
  }

  /** `cached`: tokens of the prompt that were not computed for this request. */
  finish(reason: 'stop' | 'length', cached: number): ChatChunk[] {
    this.#cached = cached;
    const rest = this.#grow(this.#stops.push(this.#detokenizer.end()) + this.#stops.end());
    this.#parsed = this.#parseTools ? parseToolCalls(this.#text) : { content: this.#text, calls: [] };
    const { content, calls } = this.#parsed;
    this.#finish = calls.length > 0 && reason === 'stop' ? 'tool_calls' : reason;
    const unsent = calls.length > 0 ? '' : content.slice(this.#sent);
    return [
      ...rest,
      ...(unsent === '' ? [] : [this.#chunk({ content: unsent }, null)]),
      ...(calls.length === 0 ? [] : [this.#chunk({ tool_calls: calls.map((call, index) => ({ index, ...call })) }, null)]),
      this.#chunk({}, this.#finish),
      ...(this.#request.stream_options?.include_usage ? [{ ...this.#chunk({}, null), choices: [], usage: this.#usage() }] : []),
    ];
  }

  completion(): ChatCompletion {
    const { content, calls } = this.#parsed;
    return {
      ...this.#head,
      object: 'chat.completion',
      choices: [{
        index: 0,
        message: { role: 'assistant', content: calls.length > 0 && content === '' ? null : content, ...(calls.length > 0 ? { tool_calls: calls } : {}) },
        finish_reason: this.#finish,
        logprobs: this.#request.logprobs ? { content: this.#tokens.map((token) => ({ ...this.#named(token), top_logprobs: token.alternatives.map((t) => this.#named(t)) })) } : null,
        token_ids: this.#tokens.map(({ token }) => token),
      }],
      usage: this.#usage(),
      prompt_token_ids: this.#prompt,
    };
  }

  sampled(version: number): SampledTokens {
    return {
      prompt_token_ids: this.#prompt,
      response_token_ids: this.#tokens.map(({ token }) => token),
      response_logprobs: this.#tokens.map(({ logprob }) => logprob),
      policy_version: version,
    };
  }

  #grow(text: string): ChatChunk[] {
    this.#text += text;
    const safe = this.#untilTools.push(text);
    this.#sent += safe.length;
    return safe === '' ? [] : [this.#chunk({ content: safe }, null)];
  }

  #chunk(delta: ChatChunk['choices'][number]['delta'], finish: string | null): ChatChunk {
    return { ...this.#head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] };
  }

  #named({ token, logprob }: PickedToken) {
    const bytes = this.#reader.bytesOf(token);
    return { token: new TextDecoder().decode(bytes), logprob, bytes: [...bytes] };
  }

  #usage() {
    const [prompt, completion] = [this.#prompt.length, this.#tokens.length];
    return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion, prompt_tokens_details: { cached_tokens: this.#cached } };
  }
}
