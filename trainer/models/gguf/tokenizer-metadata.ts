import { z } from 'zod';
import { TrainerError } from '../../protocol/errors.ts';
import { parseAs } from '../../protocol/validate.ts';
import { Decoder, tokenEncoding } from '../token-bytes.ts';
import type { TokenizerFiles } from '../tokenizer-files.ts';
import { scoresOfMerges } from './merges.ts';
import { preTokenizerName, preTokenizers } from './pre-tokenizers.ts';
import { tokenTypes } from './tokenizer.ts';
import { bool, float32s, int32s, string, strings, uint32, type TypedValue } from './write.ts';

const Named = z.union([z.string(), z.looseObject({ content: z.string() }).transform(({ content }) => content)]).nullish();
const Tokenizer = z.looseObject({
  added_tokens: z.array(z.looseObject({ id: z.number().int().min(0), content: z.string(), special: z.boolean().default(false) })).default([]),
  pre_tokenizer: z.unknown(),
  post_processor: z.unknown(),
  normalizer: z.unknown(),
  decoder: Decoder.nullish(),
  model: z.looseObject({ vocab: z.record(z.string(), z.number().int().min(0)), merges: z.array(z.union([z.string().transform((text) => text.split(' ', 2) as [string, string]), z.tuple([z.string(), z.string()])])) }),
});
const Config = z.looseObject({
  bos_token: Named, eos_token: Named, unk_token: Named, pad_token: Named,
  chat_template: z.union([z.string(), z.array(z.looseObject({ name: z.string(), template: z.string() }))]).nullish(),
});

/** The metadata by which llama.cpp cuts texts as the tokenizer does. Ids up to `vocab` that no token has are filled. Throws TrainerError `bad_input` when there is none. */
export function tokenizerMetadata({ tokenizer, config, template, tokenizerFile, configFile }: TokenizerFiles, vocab: number): [string, TypedValue][] {
  const json = parseAs(Tokenizer, tokenizer, tokenizerFile);
  const names = parseAs(Config, config, configFile);
  const encoding = tokenEncoding(json.decoder);
  const pre = preTokenizerName(json.pre_tokenizer);
  const lacking = !encoding ? '"decoder" is neither byte-level nor SentencePiece\'s'
    : encoding.kind === 'byteLevel' && pre === null ? `"pre_tokenizer" is ${shortened(JSON.stringify(json.pre_tokenizer ?? null))}, and a GGUF file can only name a cut that is built into llama.cpp, of which ${Object.keys(preTokenizers).join(', ')} are known here` : null;
  if (!encoding || lacking !== null) {
    throw new TrainerError('bad_input', `${tokenizerFile}: llama.cpp has no tokenizer that cuts texts as this one does, so the model cannot be written as GGUF: ${lacking}. Export it as a Hugging Face folder or as ONNX.`);
  }
  const { tokens, types } = tokenList(json, vocab, encoding.kind === 'sentencePiece');
  const idOf = (key: string, name: string | null | undefined): [string, TypedValue][] => (name && tokens.includes(name) ? [[`${key}_token_id`, uint32(tokens.indexOf(name))]] : []);
  const inline = Array.isArray(names.chat_template) ? (names.chat_template.find(({ name }) => name === 'default') ?? names.chat_template[0])?.template : names.chat_template;
  const text = template ?? inline;
  const merges: [string, TypedValue][] = encoding.kind === 'byteLevel'
    ? [['model', string('gpt2')], ['pre', string(pre as string)], ['merges', strings(json.model.merges.map((pair) => pair.join(' ')))]]
    : [['model', string('llama')], ['pre', string('default')], ['scores', float32s(scoresOfMerges(tokens, json.model.merges))], ['add_space_prefix', bool(JSON.stringify(json.normalizer ?? null).includes('"Prepend"'))]];
  return [
    ...[
      ...merges, ['tokens', strings(tokens)], ['token_type', int32s(types)],
      ...idOf('bos', names.bos_token), ...idOf('eos', names.eos_token), ...idOf('unknown', names.unk_token), ...idOf('padding', names.pad_token),
      ['add_bos_token', bool(JSON.stringify(json.post_processor ?? null).includes('"SpecialToken"'))],
    ].map(([key, value]): [string, TypedValue] => [`tokenizer.ggml.${key as string}`, value as TypedValue]),
    ...(text ? [['tokenizer.chat_template', string(text)] as [string, TypedValue]] : []),
  ];
}

function tokenList({ model, added_tokens: added }: z.infer<typeof Tokenizer>, vocab: number, hasBytes: boolean): { tokens: string[]; types: number[] } {
  const tokens = Array.from({ length: vocab }, (_, id) => `<|unused ${id}|>`);
  const types = tokens.map((): number => tokenTypes.unused);
  for (const [token, id] of Object.entries(model.vocab)) {
    tokens[id] = token;
    types[id] = hasBytes && /^<0x[0-9A-F]{2}>$/.test(token) ? tokenTypes.byte : tokenTypes.normal;
  }
  for (const { id, content, special } of added) {
    tokens[id] = content;
    types[id] = special ? tokenTypes.control : tokenTypes.userDefined;
  }
  return { tokens, types };
}

function shortened(text: string): string { return text.length > 200 ? `${text.slice(0, 200)}…` : text; }
