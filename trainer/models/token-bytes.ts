import { z } from 'zod';
import { byteLevelAlphabet } from './detokenizer.ts';

const Part = z.looseObject({ type: z.string() });
/** The decoder of a tokenizer.json: one step, or a sequence of them. */
export const Decoder = z.looseObject({ type: z.string(), decoders: z.array(Part).optional() });

/** How the tokens of a vocabulary are written: bytes as GPT-2's characters, or text with ▁ for blanks and <0xE2> for single bytes. */
export interface TokenEncoding { kind: 'byteLevel' | 'sentencePiece'; stripsFirstBlank: boolean }

/** Null when it is neither. */
export function tokenEncoding(decoder: z.infer<typeof Decoder> | null | undefined): TokenEncoding | null {
  const steps = (decoder?.type === 'Sequence' ? decoder.decoders ?? [] : decoder ? [decoder] : []).map(({ type }) => type);
  if (steps.length === 1 && steps[0] === 'ByteLevel') return { kind: 'byteLevel', stripsFirstBlank: false };
  const isSentencePiece = steps.includes('ByteFallback') && steps.every((type) => ['Replace', 'ByteFallback', 'Fuse', 'Strip'].includes(type));
  return isSentencePiece ? { kind: 'sentencePiece', stripsFirstBlank: steps.includes('Strip') } : null;
}

/** The bytes of each token by its id; added tokens are written out as they are. */
export function tokenBytes(vocabulary: ReadonlyMap<string, number>, added: ReadonlyMap<number, { content: string }>, { kind }: TokenEncoding): (Uint8Array | undefined)[] {
  const alphabet = byteLevelAlphabet();
  const utf8 = new TextEncoder();
  const ordinary = kind === 'byteLevel' ? (token: string) => Uint8Array.from(token, (char) => alphabet.get(char) ?? 0x3f) : (token: string) => {
    const [, byte] = /^<0x([0-9A-F]{2})>$/.exec(token) ?? [];
    return byte === undefined ? utf8.encode(token.replaceAll('▁', ' ')) : Uint8Array.of(parseInt(byte, 16));
  };
  const bytes: (Uint8Array | undefined)[] = [];
  for (const [token, id] of vocabulary) {
    const literal = added.get(id)?.content;
    bytes[id] = literal === undefined ? ordinary(token) : utf8.encode(literal);
  }
  return bytes;
}
