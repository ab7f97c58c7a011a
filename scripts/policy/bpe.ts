export const specialTokens = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'] as const;

/** Words keep their leading blank and underscores; numbers are one piece; everything else as it stands. Nothing is lost: the pieces join to the text. */
const PIECES = ' ?[\\p{L}_]+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}_]+|\\s+';

const CHAT_TEMPLATE = `{% for message in messages %}<|im_start|>{{ message['role'] }}
{{ message['content'] }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;

/** GPT-2's table: a printable character for each byte, so that merges can be written as text. */
function byteCharacters(): string[] {
  const printable = (byte: number): boolean => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(printable(byte) ? byte : next++));
}

export interface TokenizerFiles { tokenizer: object; config: object }

/**
 * Byte-level byte-pair encoding (Sennrich et al. 2016, on bytes): the most frequent neighbouring pair is merged until the vocabulary is full; ties go to the pair that sorts first.
 * Returns the contents of tokenizer.json and tokenizer_config.json in Hugging Face's format.
 */
export function trainTokenizer(texts: Iterable<string>, vocabularySize: number, contextLength: number): TokenizerFiles {
  const characters = byteCharacters();
  const words = countWords(texts, characters);
  const vocabulary = new Map<string, number>();
  for (const token of [...specialTokens, ...characters]) vocabulary.set(token, vocabulary.size);
  const merges: [string, string][] = [];
  while (vocabulary.size < vocabularySize) {
    const pair = mostFrequentPair(words);
    if (!pair) break;
    merges.push(pair);
    vocabulary.set(pair.join(''), vocabulary.size);
    for (const word of words) merge(word.symbols, pair);
  }
  return { tokenizer: tokenizerJson(vocabulary, merges), config: tokenizerConfig(contextLength) };
}

interface Word { symbols: string[]; count: number }

function countWords(texts: Iterable<string>, characters: string[]): Word[] {
  const counts = new Map<string, number>();
  for (const text of texts) {
    for (const [piece] of text.matchAll(new RegExp(PIECES, 'gu'))) counts.set(piece, (counts.get(piece) ?? 0) + 1);
  }
  return [...counts].map(([piece, count]) => ({ count, symbols: [...Buffer.from(piece, 'utf8')].map((byte) => characters[byte] as string) }));
}

function mostFrequentPair(words: Word[]): [string, string] | null {
  const counts = new Map<string, number>();
  for (const { symbols, count } of words) {
    for (let i = 1; i < symbols.length; i++) {
      const key = `${symbols[i - 1]} ${symbols[i]}`;
      counts.set(key, (counts.get(key) ?? 0) + count);
    }
  }
  let best: string | null = null;
  let bestCount = 1; // a pair seen once is not worth a token
  for (const [key, count] of counts) {
    if (count > bestCount || (count === bestCount && best !== null && key < best)) [best, bestCount] = [key, count];
  }
  return best === null ? null : (best.split(' ') as [string, string]);
}

function merge(symbols: string[], [left, right]: [string, string]): void {
  for (let i = 1; i < symbols.length; i++) {
    if (symbols[i - 1] === left && symbols[i] === right) symbols.splice(i - 1, 2, left + right);
  }
}

function tokenizerJson(vocabulary: Map<string, number>, merges: [string, string][]): object {
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: specialTokens.map((content, id) => ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true })),
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: PIECES }, behavior: 'Isolated', invert: false },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
    model: {
      type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false, byte_fallback: false,
      vocab: Object.fromEntries(vocabulary), merges,
    },
  };
}

function tokenizerConfig(contextLength: number): object {
  return {
    tokenizer_class: 'Qwen2Tokenizer',
    add_bos_token: false,
    add_prefix_space: false,
    bos_token: null,
    eos_token: '<|im_end|>',
    pad_token: '<|endoftext|>',
    unk_token: null,
    clean_up_tokenization_spaces: false,
    model_max_length: contextLength,
    chat_template: CHAT_TEMPLATE,
  };
}
