import { Template } from '@huggingface/jinja';
import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';
import { z } from 'zod';
import { TrainerError, messageOf } from '../protocol/errors.ts';
import type { ChatMessage } from '../protocol/chat.ts';
import { parseAs } from '../protocol/validate.ts';
import { Detokenizer } from './detokenizer.ts';
import { maxVocabulary } from './huggingface-config.ts';
import { TimeLimitError, withTimeLimit } from './time-limit.ts';
import { Decoder, tokenBytes, tokenEncoding, type TokenEncoding } from './token-bytes.ts';
import { tokenTable, type TokenTable } from './token-table.ts';
import { readTokenizerFiles } from './tokenizer-files.ts';

const TokenText = z.union([z.string(), z.looseObject({ content: z.string() }).transform((token) => token.content)], { error: 'must be a string or a token object' }).nullish();
const TokenizerJson = (vocab: number) => {
  const id = z.number().int().min(0).lt(vocab);
  return z.looseObject({
    model: z.looseObject({
      type: z.literal('BPE', { error: 'must be "BPE", as in Qwen2' }).optional(),
      vocab: z.record(z.string(), id),
      merges: z.array(z.union([z.string(), z.tuple([z.string(), z.string()])], { error: 'must be a string or a pair of strings' })),
    }),
    added_tokens: z.array(z.looseObject({ id, content: z.string(), special: z.boolean().default(false) })).default([]),
    decoder: Decoder.nullish(),
  });
};
const TokenizerConfig = z.looseObject({
  chat_template: z.union([z.string(), z.array(z.looseObject({ name: z.string(), template: z.string() }))], { error: 'must be a string or a list of {name, template}' }).nullish(),
  bos_token: TokenText,
  eos_token: TokenText,
});
/** Templates take a millisecond or two. */
const templateLimit = 1000;

/** Text to ids and back, and the chat template, of one model folder. */
export class ModelTokenizer {
  /** Id of the configuration's `eos_token`, if it has one. */
  readonly eosId: number | null;
  readonly size: number;
  readonly #tokenizer: HuggingFaceTokenizer;
  readonly #bytes: (Uint8Array | undefined)[];
  readonly #stripsFirstBlank: boolean;
  readonly #special: ReadonlySet<number>;
  readonly #template: Template | null;
  readonly #variables: Record<string, string>;

  constructor(json: z.infer<ReturnType<typeof TokenizerJson>>, config: z.infer<typeof TokenizerConfig>, encoding: TokenEncoding, template: string | null) {
    this.#tokenizer = new HuggingFaceTokenizer(json, { ...config, clean_up_tokenization_spaces: false });
    const added = new Map(json.added_tokens.map((token) => [token.id, token]));
    this.#special = new Set(json.added_tokens.filter((token) => token.special).map((token) => token.id));
    this.#bytes = tokenBytes(this.#tokenizer.get_vocab(true), added, encoding);
    this.#stripsFirstBlank = encoding.stripsFirstBlank;
    this.size = this.#bytes.length;
    this.#template = template === null ? null : new Template(template);
    this.#variables = { bos_token: config.bos_token ?? '', eos_token: config.eos_token ?? '' };
    this.eosId = config.eos_token ? this.#tokenizer.token_to_id(config.eos_token) ?? null : null;
  }

  /** Ids of a text as it stands: nothing is added, special tokens written out in it are recognised. */
  encode(text: string): number[] { return this.#tokenizer.encode(text, { add_special_tokens: false }).ids; }

  /** Text of the ids without special tokens. */
  decode(ids: readonly number[]): string {
    const detokenizer = this.detokenizer();
    return ids.map((id) => detokenizer.push(id)).join('') + detokenizer.end();
  }

  detokenizer(): Detokenizer { return new Detokenizer((id) => this.printedBytesOf(id), this.#stripsFirstBlank); }

  /** The bytes a token adds to an answer; undefined for special tokens. */
  printedBytesOf(id: number): Uint8Array | undefined { return this.#special.has(id) ? undefined : this.#bytes[id]; }

  /** The bytes a token stands for, special tokens written out. */
  bytesOf(id: number): Uint8Array { return this.#bytes[id] ?? new Uint8Array(0); }

  /** What another thread needs to read tokens. */
  table(): TokenTable { return tokenTable(this.#bytes, this.#special, this.#stripsFirstBlank); }

  idOf(token: string): number | undefined { return this.#tokenizer.token_to_id(token); }

  /** A conversation as text, by default ready for the assistant's answer. Throws TrainerError `bad_input` when the template refuses it or does not end. */
  renderChat(messages: readonly ChatMessage[], tools: readonly unknown[] | null, add_generation_prompt = true): string {
    if (!this.#template) {
      throw new TrainerError('bad_input', 'The model has no chat template. Add "chat_template" to its tokenizer_config.json, or a file chat_template.jinja.');
    }
    const template = this.#template;
    const variables = { ...this.#variables, messages: messages.map(templateMessage), ...(tools?.length ? { tools } : {}), add_generation_prompt };
    try {
      return withTimeLimit(templateLimit, () => template.render(variables));
    } catch (cause) {
      if (cause instanceof TimeLimitError) throw new TrainerError('bad_input', `The model's chat template was stopped after ${templateLimit / 1000} s. Look for an endless or very long loop in it.`, { cause });
      throw new TrainerError('bad_input', `The model's chat template refused the messages: ${messageOf(cause)}`, { cause });
    }
  }
}

/**
 * Reads the tokenizer of a Hugging Face folder (tokenizer.json, tokenizer_config.json, chat_template.jinja) or of a GGUF file.
 * `vocab`: the ids the model knows are below it. Throws TrainerError naming file and field at fault.
 */
export async function openTokenizer(model: string, vocab = maxVocabulary): Promise<ModelTokenizer> {
  const { tokenizer: json, config, template, tokenizerFile, configFile } = await readTokenizerFiles(model);
  const parsed = parseAs(TokenizerJson(vocab), json, tokenizerFile);
  const parsedConfig = parseAs(TokenizerConfig, config, configFile);
  const encoding = tokenEncoding(parsed.decoder);
  if (!encoding) {
    throw new TrainerError('bad_input', `${tokenizerFile}: the decoder "${parsed.decoder?.type ?? 'none'}" is not supported; byte-level BPE (as in Qwen2 and Llama 3) and SentencePiece (as in Gemma) tokenizers are.`);
  }
  const inline = parsedConfig.chat_template;
  const named = Array.isArray(inline) ? (inline.find((t) => t.name === 'default') ?? inline[0])?.template : inline;
  try {
    const tokenizer = new ModelTokenizer(parsed, parsedConfig, encoding, template ?? named ?? null);
    tokenizer.encode('a'); // what is wrong in the other parts of the file shows only in use
    return tokenizer;
  } catch (cause) {
    throw new TrainerError('bad_input', `The tokenizer of ${model} cannot be used: ${messageOf(cause)}. Check ${tokenizerFile}.`, { cause });
  }
}

/** A message as chat templates expect it: content a string, tool arguments an object, `developer` the newer name of `system`. */
function templateMessage(message: ChatMessage): Record<string, unknown> {
  const { content, tool_calls: calls } = message;
  return {
    ...message,
    role: message.role === 'developer' ? 'system' : message.role,
    content: typeof content === 'string' ? content : (content ?? []).map(partText).join(''),
    ...(calls ? { tool_calls: calls.map((call) => ({ ...call, function: { ...call.function, arguments: parsedOr(call.function.arguments) } })) } : {}),
  };
}

function partText(part: { type: string; [key: string]: unknown }): string {
  if (part.type !== 'text' || typeof part['text'] !== 'string') {
    throw new TrainerError('bad_input', `The model reads text only, and a message has a part of type "${part.type}". Send text parts.`);
  }
  return part['text'];
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
