import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Grammar } from '../../../trainer/grammar/grammar.ts';
import { readVocabulary } from '../../../trainer/grammar/vocabulary.ts';
import { uniforms } from '../../../trainer/policy/random.ts';
import { documentsOf, validator } from './documents.ts';
import { cases } from './schemas.ts';

/** Every byte, pieces of JSON, words, and tokens that begin or end inside a character. */
const texts = ['{"', '":', '": ', '", "', '"}', '},', '[]', 'true', 'null', 'nul', ' a', 'aa', 'name', 'name"', 'é', '漢字', 'x漢', '0.', '123', '-1', '\\n', '\\u00', '\\ud83d\\ude00', 'aaaaaaaaa', '"a"', 'a": [', '\n'];
const tokens = [
  ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
  ...texts.map((text) => new TextEncoder().encode(text)),
  Uint8Array.of(0xc3), Uint8Array.of(0x61, 0xe6, 0xbc), Uint8Array.of(0xa2, 0x62), Uint8Array.of(0xf0, 0x9f), Uint8Array.of(0xc3, 0xa9, 0x22),
];
const stopIds = [tokens.length, tokens.length + 1];
const vocabulary = readVocabulary(tokens.length + 5, (id) => tokens[id], stopIds);

function grammarOf(schema: unknown): Grammar {
  const { json, start } = documentsOf(schema);
  return new Grammar(json.algebra, start, vocabulary, [json.anyCharacter, json.character]);
}

function allowedIds(mask: Uint32Array): number[] {
  return Array.from({ length: mask.length * 32 }, (_, id) => id).filter((id) => ((mask[id >> 5]! >>> (id & 31)) & 1) === 1);
}

describe('tokens that a grammar allows', () => {
  it('are those whose bytes it takes, in every state on the way', () => {
    fc.assert(fc.property(cases, fc.nat(), ({ schema }, seed) => {
      const { algebra, start, masks } = grammarOf(schema);
      const uniform = uniforms(seed);
      for (let state = start, step = 0; step < 12; step++) {
        const expected = tokens.flatMap((bytes, id) => (bytes.reduce((at, byte) => algebra.after(at, byte), state) === algebra.none ? [] : [id]));
        assert.deepEqual(allowedIds(masks.of(state)), state.nullable ? [...expected, ...stopIds] : expected);
        const id = expected[Math.floor(uniform() * expected.length)];
        if (id === undefined) break;
        state = tokens[id]!.reduce((at, byte) => algebra.after(at, byte), state);
      }
    }), { numRuns: 40, seed: 4 });
  }).timeout(60_000);

  it('lead to a valid text, whichever are drawn', () => {
    fc.assert(fc.property(cases, fc.nat(), ({ schema }, seed) => {
      const constraint = grammarOf(schema).constraint();
      const isValid = validator(schema);
      const uniform = uniforms(seed);
      const drawn: number[] = [];
      while (!constraint.complete && drawn.length < 1000) {
        const ids = allowedIds(constraint.allowed());
        const id = ids[Math.floor(uniform() * ids.length)]!;
        drawn.push(id);
        constraint.accept(id);
      }
      if (!constraint.complete) return;
      const text = Buffer.concat(drawn.map((id) => tokens[id] ?? new Uint8Array(0))).toString();
      assert.ok(isValid(JSON.parse(text)), text);
    }), { numRuns: 100, seed: 5 });
  }).timeout(60_000);

  it('a string holds as many characters as it may, however they are cut into tokens', () => {
    const constraint = grammarOf({ type: 'string', maxLength: 3 }).constraint();
    const named = () => allowedIds(constraint.allowed()).map((id) => Buffer.from(tokens[id]!).toString());
    const take = (text: string) => constraint.accept(tokens.findIndex((bytes) => Buffer.from(bytes).toString() === text));
    take('"');
    assert.ok(named().includes('漢字') && !named().includes('name') && !named().includes('name"'));
    take('漢字');
    assert.ok(named().includes('é') && !named().includes('aa'));
    take('é');
    assert.deepEqual(named(), ['"']);
    assert.ok(!constraint.complete);
    take('"');
    assert.ok(constraint.complete);
  });

  it('a vocabulary that cannot write the format is named as the reason', () => {
    const { json, start } = documentsOf({ type: 'boolean' });
    const poor = new Grammar(json.algebra, start, readVocabulary(2, (id) => Uint8Array.of(0x61 + id), []), []);
    assert.throws(() => poor.constraint().allowed(), { code: 'bad_input', message: /cannot write what the format asks for/ });
  });

  it('stays right when what was derived is forgotten on the way', () => {
    const constraint = grammarOf({ type: 'array', items: { type: 'string', maxLength: 30_000 } }).constraint();
    for (const byte of Buffer.from(`["${'x'.repeat(25_000)}`)) constraint.accept(byte);
    assert.ok(allowedIds(constraint.allowed()).includes(0x22));
    for (const byte of Buffer.from('", "a"]')) constraint.accept(byte);
    assert.ok(constraint.complete);
  });
});
