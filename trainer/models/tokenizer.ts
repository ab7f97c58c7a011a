import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Template } from '@huggingface/jinja';
import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';
import { z } from 'zod';
import { TrainerError, messageOf } from '../protocol/errors.ts';
import type { ChatMessage } from '../protocol/chat.ts';
import { readJson } from './config.ts';
import { Detokenizer, byteLevelAlphabet } from './detokenizer.ts';

const TokenText = z.union([z.string(), z.looseObject({ content: z.string() }).transform((token) => token.content)]).nullish();
const TokenizerJson = z.looseObject({
  model: z.looseObject({ type: z.string().optional() }),
  added_tokens: z.array(z.looseObject({ id: z.number().int(), content: z.string(), special: z.boolean().default(false) })).default([]),
  decoder: z.looseObject({ type: z.string() }).nullish(),
});
const TokenizerConfig = z.looseObject({
  chat_template: z.union([z.string(), z.array(z.looseObject({ name: z.string(), template: z.string() }))]).nullish(),
  bos_token: TokenText,
  eos_token: TokenText,
});

/** Text to ids and back, and the chat template, of one model folder. */
export class ModelTokenizer {
  /** Id of the configuration's `eos_token`, if it has one. */
  readonly eosId: number | null;
  readonly size: number;
  readonly #tokenizer: HuggingFaceTokenizer;
  readonly #bytes: (Uint8Array | undefined)[];
  readonly #special: ReadonlySet<number>;
  readonly #template: Template | null;
  readonly #variables: Record<string, string>;

  constructor(json: z.infer<typeof TokenizerJson>, config: z.infer<typeof TokenizerConfig>, template: string | null) {
    this.#tokenizer = new HuggingFaceTokenizer(json, { ...config, clean_up_tokenization_spaces: false });
    const added = new Map(json.added_tokens.map((token) => [token.id, token]));
    this.#special = new Set(json.added_tokens.filter((token) => token.special).map((token) => token.id));
    this.#bytes = tokenBytes(this.#tokenizer.get_vocab(true), added);
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

  detokenizer(): Detokenizer { return new Detokenizer((id) => (this.#special.has(id) ? undefined : this.#bytes[id])); }

  /** The bytes a token stands for, special tokens written out. */
  bytesOf(id: number): Uint8Array { return this.#bytes[id] ?? new Uint8Array(0); }

  idOf(token: string): number | undefined { return this.#tokenizer.token_to_id(token); }

  /** The prompt for a conversation, ready for the assistant's answer. Throws TrainerError `bad_input` when the template refuses it. */
  renderChat(messages: readonly ChatMessage[], tools: readonly unknown[] | null): string {
    if (!this.#template) {
      throw new TrainerError('bad_input', 'The model has no chat template. Add "chat_template" to its tokenizer_config.json, or a file chat_template.jinja.');
    }
    try {
      return this.#template.render({ ...this.#variables, messages: messages.map(templateMessage), ...(tools?.length ? { tools } : {}), add_generation_prompt: true });
    } catch (cause) {
      throw new TrainerError('bad_input', `The model's chat template refused the messages: ${messageOf(cause)}`, { cause });
    }
  }
}

/** Reads tokenizer.json, tokenizer_config.json and chat_template.jinja. Throws TrainerError naming the file at fault. */
export async function openTokenizer(folder: string): Promise<ModelTokenizer> {
  const jsonFile = path.join(folder, 'tokenizer.json');
  const configFile = path.join(folder, 'tokenizer_config.json');
  const [json, config] = [await readJson(jsonFile), await readJson(configFile)];
  if (json === undefined) throw new TrainerError('not_found', `There is no ${jsonFile}. A model folder holds the tokenizer in Hugging Face's tokenizer.json format.`);
  const parsed = check(TokenizerJson, json, jsonFile);
  const parsedConfig = check(TokenizerConfig, config ?? {}, configFile);
  if (parsed.decoder?.type !== 'ByteLevel') {
    throw new TrainerError('bad_input', `${jsonFile}: the decoder "${parsed.decoder?.type ?? 'none'}" is not supported; only byte-level BPE tokenizers are (as in Qwen2).`);
  }
  const templateFile = await readFile(path.join(folder, 'chat_template.jinja'), 'utf8').catch(() => null);
  const inline = parsedConfig.chat_template;
  const named = Array.isArray(inline) ? (inline.find((t) => t.name === 'default') ?? inline[0])?.template : inline;
  try {
    return new ModelTokenizer(parsed, parsedConfig, templateFile ?? named ?? null);
  } catch (cause) {
    throw new TrainerError('bad_input', `The tokenizer in ${folder} cannot be used: ${messageOf(cause)}`, { cause });
  }
}

function check<T>(schema: z.ZodType<T>, json: unknown, file: string): T {
  const result = schema.safeParse(json);
  if (!result.success) throw new TrainerError('bad_input', `${file}: ${z.prettifyError(result.error)}`);
  return result.data;
}

function tokenBytes(vocabulary: ReadonlyMap<string, number>, added: ReadonlyMap<number, { content: string }>): (Uint8Array | undefined)[] {
  const alphabet = byteLevelAlphabet();
  const bytes: (Uint8Array | undefined)[] = [];
  for (const [token, id] of vocabulary) {
    const literal = added.get(id)?.content;
    bytes[id] = literal === undefined ? Uint8Array.from(token, (char) => alphabet.get(char) ?? 0x3f) : new TextEncoder().encode(literal);
  }
  return bytes;
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
