import { z } from 'zod';
import type { ChatChunk, ChatCompletion } from '../protocol/chat.ts';

const ToolCallDelta = z.looseObject({
  index: z.number().int().nullish(),
  id: z.string().nullish(),
  function: z.looseObject({ name: z.string().nullish(), arguments: z.string().nullish() }).nullish(),
});
type ToolCallDelta = z.infer<typeof ToolCallDelta>;

const ChoiceExtras = z.looseObject({
  delta: z.looseObject({ tool_calls: z.array(ToolCallDelta).nullish() }),
  logprobs: z.looseObject({ content: z.array(z.unknown()).nullish() }).nullish(),
  token_ids: z.array(z.number()).nullish(),
});
const ChunkUsage = z.looseObject({ prompt_tokens: z.number(), completion_tokens: z.number(), total_tokens: z.number() });

type ToolCall = { id: string; type: 'function'; function: { name: string; arguments: string } };
interface Choice { text: Map<string, string>; toolCalls: Map<number, ToolCall>; logprobs: unknown[] | null; tokenIds: number[] | null; finishReason: string | null }

/** Adds up the chunks of a stream to the completion they amount to. Works on a stream that broke off, too. */
export class ChunkAssembler {
  #head: ChatChunk | null = null;
  #usage: z.infer<typeof ChunkUsage> | null = null;
  #promptTokenIds: number[] | null = null;
  readonly #choices = new Map<number, Choice>();

  add(chunk: ChatChunk): void {
    this.#head ??= chunk;
    this.#usage = ChunkUsage.safeParse(chunk.usage).data ?? this.#usage;
    this.#promptTokenIds = z.array(z.number()).safeParse(chunk['prompt_token_ids']).data ?? this.#promptTokenIds;
    for (const choice of chunk.choices) this.#addChoice(choice);
  }

  /** Every choice seen has ended. */
  get finished(): boolean {
    return this.#choices.size > 0 && [...this.#choices.values()].every((choice) => choice.finishReason !== null);
  }

  /** null: no chunk came. */
  completion(): ChatCompletion | null {
    if (this.#head === null) return null;
    return {
      id: this.#head.id,
      object: 'chat.completion',
      created: this.#head.created,
      model: this.#head.model,
      choices: [...this.#choices].sort(([a], [b]) => a - b).map(([index, choice]) => ({
        index,
        message: {
          role: 'assistant',
          content: null,
          ...Object.fromEntries(choice.text),
          ...(choice.toolCalls.size > 0 ? { tool_calls: [...choice.toolCalls].sort(([a], [b]) => a - b).map(([, call]) => call) } : {}),
        },
        finish_reason: choice.finishReason,
        logprobs: choice.logprobs && { content: choice.logprobs },
        ...(choice.tokenIds ? { token_ids: choice.tokenIds } : {}),
      })),
      usage: this.#usage,
      ...(this.#promptTokenIds ? { prompt_token_ids: this.#promptTokenIds } : {}),
    };
  }

  #addChoice(delta: ChatChunk['choices'][number]): void {
    let choice = this.#choices.get(delta.index);
    if (!choice) this.#choices.set(delta.index, choice = { text: new Map(), toolCalls: new Map(), logprobs: null, tokenIds: null, finishReason: null });
    // content, refusal, reasoning_content and the like: text fields all add up.
    for (const [key, value] of Object.entries(delta.delta)) {
      if (typeof value === 'string' && key !== 'role') choice.text.set(key, (choice.text.get(key) ?? '') + value);
    }
    choice.finishReason = delta.finish_reason ?? choice.finishReason;
    const extras = ChoiceExtras.safeParse(delta).data;
    for (const call of extras?.delta.tool_calls ?? []) addToolCall(choice.toolCalls, call);
    if (extras?.logprobs?.content) (choice.logprobs ??= []).push(...extras.logprobs.content);
    if (extras?.token_ids) (choice.tokenIds ??= []).push(...extras.token_ids);
  }
}

/** Deltas of a call share its index. Servers that leave the index out start a new call with each new id. */
function addToolCall(calls: Map<number, ToolCall>, delta: ToolCallDelta): void {
  const last = calls.size - 1;
  const startsNew = last < 0 || (delta.id != null && delta.id !== calls.get(last)?.id);
  const index = delta.index ?? (startsNew ? last + 1 : last);
  let call = calls.get(index);
  if (!call) calls.set(index, call = { id: '', type: 'function', function: { name: '', arguments: '' } });
  if (call.id === '') call.id = delta.id ?? '';
  if (call.function.name === '') call.function.name = delta.function?.name ?? '';
  call.function.arguments += delta.function?.arguments ?? '';
}
