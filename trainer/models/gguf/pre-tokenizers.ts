/** How a byte-level tokenizer cuts a text before merging, in the form of tokenizer.json. */
export interface PreTokenizer { normalizer: object | null; preTokenizer: object; ignoreMerges: boolean }

const byteLevel = (useRegex: boolean) => ({ type: 'ByteLevel', add_prefix_space: false, trim_offsets: useRegex, use_regex: useRegex });
const split = (regex: string) => ({ type: 'Sequence', pretokenizers: [{ type: 'Split', pattern: { Regex: regex }, behavior: 'Isolated', invert: false }, byteLevel(false)] });
const words = (digits: string) => `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;

/** By llama.cpp's names (tokenizer.ggml.pre), as the models' own tokenizer.json files have them. */
export const preTokenizers: Readonly<Record<string, PreTokenizer>> = {
  'gpt-2': { normalizer: null, preTokenizer: byteLevel(true), ignoreMerges: false },
  'qwen2': { normalizer: { type: 'NFC' }, preTokenizer: split(words('\\p{N}')), ignoreMerges: false },
  'llama-bpe': { normalizer: null, preTokenizer: split(words('\\p{N}{1,3}')), ignoreMerges: true },
  'smollm': { normalizer: null, preTokenizer: { type: 'Sequence', pretokenizers: [{ type: 'Digits', individual_digits: true }, byteLevel(true)] }, ignoreMerges: false },
};

/** llama.cpp's name of the pre-tokenizer of a tokenizer.json; null when it has none that cuts alike. */
export function preTokenizerName(preTokenizer: unknown): string | null {
  const essence = (value: unknown) => JSON.stringify(value, (key, part: unknown) => (key === 'trim_offsets' ? undefined : part));
  return Object.keys(preTokenizers).find((name) => essence(preTokenizers[name]?.preTokenizer) === essence(preTokenizer)) ?? null;
}
