import { TrainerError } from '../../protocol/errors.ts';
import type { TokenizerFiles } from '../tokenizer-files.ts';
import { mergesOfScores } from './merges.ts';
import { preTokenizers } from './pre-tokenizers.ts';
import type { GgufHeader } from './read.ts';
import type { GgufScalar, GgufValue } from './types.ts';

/** Kinds of tokens in a GGUF file. */
export const tokenTypes = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;
/** Tokens that end an answer in the chat templates of our families: a GGUF file names one or two of them. */
const turnEnds = ['<|im_end|>', '<|eot_id|>', '<|eom_id|>', '<end_of_turn>', '<|endoftext|>', '<|end_of_text|>'];
/** A blank within SentencePiece tokens. */
const blank = '▁';

interface Vocabulary { tokens: string[]; types: readonly number[]; refuse: (problem: string) => TrainerError }

/** The tokenizer of a GGUF file in Hugging Face's format. Throws TrainerError `bad_input` naming the file and what is not supported. */
export function tokenizerOfGguf({ file, metadata }: GgufHeader): TokenizerFiles {
  const refuse = (problem: string) => new TrainerError('bad_input', `${file}: ${problem}`);
  const get = (name: string) => metadata.get(`tokenizer.ggml.${name}`);
  const tokens = listOf(get('tokens'), isString);
  const types = listOf(get('token_type'), isNumber) ?? tokens?.map(() => tokenTypes.normal);
  if (!tokens || !types || tokens.length !== types.length) throw refuse('the metadata has no usable list of tokens (tokenizer.ggml.tokens, tokenizer.ggml.token_type).');
  const vocabulary = { tokens, types, refuse };
  const tokenAt = (name: string) => tokens[Number(get(name) ?? -1)] ?? null;
  const bos = tokenAt('bos_token_id');
  const kind = get('model');
  const template = metadata.get('tokenizer.chat_template');
  const parts = kind === 'gpt2' ? byteLevelParts(vocabulary, get('merges'), get('pre'))
    : kind === 'llama' ? sentencePieceParts(vocabulary, get('scores'), get('add_space_prefix') !== false)
    : null;
  if (!parts) throw refuse(`the tokenizer "${String(kind)}" (tokenizer.ggml.model) is not supported; "gpt2" (byte-level BPE) and "llama" (SentencePiece) are.`);
  return {
    tokenizer: {
      version: '1.0', truncation: null, padding: null, added_tokens: addedTokens(vocabulary),
      post_processor: get('add_bos_token') === true && bos !== null ? bosFirst(bos, tokens.indexOf(bos)) : null, ...parts,
    },
    config: {
      tokenizer_class: 'PreTrainedTokenizerFast', bos_token: bos, eos_token: tokenAt('eos_token_id'), unk_token: tokenAt('unknown_token_id'), pad_token: tokenAt('padding_token_id'),
      clean_up_tokenization_spaces: false, ...(typeof template === 'string' ? { chat_template: template } : {}),
    },
    template: null,
    tokenizerFile: file,
    configFile: file,
  };
}

/** Ids that end an answer: those the file names, and the known ends of a turn among its control tokens. */
export function eosIdsOfGguf({ metadata }: GgufHeader): number[] {
  const get = (name: string) => metadata.get(`tokenizer.ggml.${name}`);
  const [tokens, types] = [listOf(get('tokens'), isString) ?? [], listOf(get('token_type'), isNumber) ?? []];
  const named = ['eos_token_id', 'eot_token_id'].map(get).filter(isNumber);
  const known = turnEnds.map((token) => tokens.indexOf(token)).filter((id) => id >= 0 && types[id] === tokenTypes.control);
  return [...new Set([...named, ...known])];
}

function byteLevelParts({ tokens, refuse }: Vocabulary, merges: GgufValue | undefined, pre: GgufValue | undefined): object {
  const pairs = listOf(merges, isString);
  if (!pairs) throw refuse('the metadata has no merges (tokenizer.ggml.merges).');
  const known = preTokenizers[String(pre)];
  if (!known) throw refuse(`the pre-tokenizer "${String(pre)}" (tokenizer.ggml.pre) is not known; ${Object.keys(preTokenizers).join(', ')} are.`);
  return {
    normalizer: known.normalizer,
    pre_tokenizer: known.preTokenizer,
    decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
    model: {
      type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, ignore_merges: known.ignoreMerges,
      vocab: ids(tokens), merges: pairs,
    },
  };
}

/** SentencePiece's BPE merges the neighbours whose union has the highest score: a list of merges in the order of the scores does the same. */
function sentencePieceParts({ tokens, types, refuse }: Vocabulary, scores: GgufValue | undefined, spacePrefix: boolean): object {
  const values = listOf(scores, isNumber);
  if (values?.length !== tokens.length) throw refuse('the metadata has no score for each token (tokenizer.ggml.scores).');
  const unknown = tokens[types.indexOf(tokenTypes.unknown)] ?? '<unk>';
  return {
    normalizer: { type: 'Sequence', normalizers: [...(spacePrefix ? [{ type: 'Prepend', prepend: blank }] : []), { type: 'Replace', pattern: { String: ' ' }, content: blank }] },
    pre_tokenizer: null,
    decoder: {
      type: 'Sequence',
      decoders: [{ type: 'Replace', pattern: { String: blank }, content: ' ' }, { type: 'ByteFallback' }, { type: 'Fuse' }, ...(spacePrefix ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : [])],
    },
    model: {
      type: 'BPE', dropout: null, unk_token: unknown, continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: true, byte_fallback: true, ignore_merges: false,
      vocab: ids(tokens), merges: mergesOfScores(tokens, (id) => types[id] === tokenTypes.normal, values),
    },
  };
}

/** Tokens that are recognised in a text before anything else; control tokens print nothing. */
function addedTokens({ tokens, types }: Vocabulary): object[] {
  const special = (type: number | undefined) => type === tokenTypes.control || type === tokenTypes.unknown;
  return tokens.flatMap((content, id) => (special(types[id]) || types[id] === tokenTypes.userDefined
    ? [{ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: special(types[id]) }] : []));
}

function bosFirst(token: string, id: number): object {
  const [bos, a, b] = [{ SpecialToken: { id: token, type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }];
  return { type: 'TemplateProcessing', single: [bos, a], pair: [bos, a, b], special_tokens: { [token]: { id: token, ids: [id], tokens: [token] } } };
}

function ids(tokens: readonly string[]): Record<string, number> { return Object.fromEntries(tokens.map((token, id) => [token, id])); }
function isString(value: GgufScalar | GgufValue | undefined): value is string { return typeof value === 'string'; }
function isNumber(value: GgufScalar | GgufValue | undefined): value is number { return typeof value === 'number'; }
function listOf<T extends GgufScalar>(value: GgufValue | undefined, is: (item: GgufScalar) => item is T): T[] | null {
  return Array.isArray(value) && (value as readonly GgufScalar[]).every(is) ? value as T[] : null;
}
