import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Grammar } from '../../../trainer/grammar/grammar.ts';
import { readVocabulary } from '../../../trainer/grammar/vocabulary.ts';
import { Detokenizer } from '../../../trainer/models/detokenizer.ts';
import { wholeModel } from '../../../trainer/models/policy-weights.ts';
import { DecodeModel } from '../../../trainer/policy/decode-model.ts';
import { Sampler } from '../../../trainer/policy/sampler.ts';
import { documentsOf, validator } from '../grammar/documents.ts';
import { cases } from '../grammar/schemas.ts';
import { engine, randomTokens, smallConfig, smallWeights } from '../models/small-model.ts';

const words = ['{"', '":', '": ', '", "', '"}', '}}', ']}', 'true', 'null', ' a', 'é', '漢字', '12', '\\n'];
const tokens = [...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)), ...words.map((word) => new TextEncoder().encode(word))];
const eos = tokens.length;
const config = { ...smallConfig, vocab: eos + 1, contextLength: 400 };

describe('a random model under random schemas', () => {
  it('says nothing at temperature 1 that is not valid once it has ended, several answers at a time', async () => {
    const vocabulary = readVocabulary(config.vocab, (id) => tokens[id], [eos]);
    const schemas = fc.sample(cases, { numRuns: 60, seed: 6 }).map(({ schema }) => schema);
    const answers = schemas.map(() => ({ ids: [] as number[], finish: '' }));
    const model = new DecodeModel(config, wholeModel(smallWeights(config)), engine, 8);
    const sampler = new Sampler(model, [eos], () => new Detokenizer((id) => tokens[id]), (event) => {
      const answer = answers[event.id]!;
      if (event.type === 'token') answer.ids.push(event.token.token);
      else answer.finish = event.type === 'done' ? event.finish : event.error.message;
    });
    schemas.forEach((schema, id) => {
      const { json, start } = documentsOf(schema);
      const constraint = new Grammar(json.algebra, start, vocabulary, [json.anyCharacter, json.character]).constraint();
      sampler.submit({ id, prompt: randomTokens(5, id), max_tokens: 300, temperature: 1, top_p: 1, top_k: 0, seed: id, stop: [], top_logprobs: 0, constraint });
    });
    while (sampler.running || sampler.waiting) {
      if (sampler.waiting) sampler.admit();
      if (sampler.running) await sampler.step();
    }
    await model.release();
    answers.forEach(({ ids, finish }, i) => {
      assert.ok(finish === 'stop' || finish === 'length', finish);
      if (finish !== 'stop') return;
      const text = Buffer.concat(ids.map((id) => tokens[id] ?? new Uint8Array(0))).toString();
      assert.ok(validator(schemas[i])(JSON.parse(text)), text);
    });
    assert.ok(answers.filter(({ finish }) => finish === 'stop').length > schemas.length / 2);
  }).timeout(120_000);
});
