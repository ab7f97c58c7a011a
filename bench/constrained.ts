/**
 * What following a JSON schema costs while sampling.
 *
 *   npx tsx bench/constrained.ts [--json]
 *
 * Answers drawn from noise under a schema, over made-up vocabularies of bytes, pieces of JSON and words: first with nothing known of the schema, then again.
 * ratio = median over answers of (grammar + masking the logits) / drawing one token of the whole distribution, which every step of the sampler does, too. A
 * step also runs the model, so the share of a step is smaller than this.
 */
import { parseArgs } from 'node:util';
import { Grammar } from '../trainer/grammar/grammar.ts';
import { JsonText } from '../trainer/grammar/json-text.ts';
import { schemaDocuments } from '../trainer/grammar/schema.ts';
import { readVocabulary } from '../trainer/grammar/vocabulary.ts';
import { uniforms } from '../trainer/policy/random.ts';
import { distribution, pickToken, restrict } from '../trainer/policy/sampling.ts';

const { values: options } = parseArgs({ options: { json: { type: 'boolean' } } });
const schema = {
  type: 'object', required: ['name', 'kind', 'tags', 'price', 'parts'], additionalProperties: false,
  properties: {
    name: { type: 'string', maxLength: 60 }, kind: { enum: ['tool', 'toy', 'tooth'] }, tags: { type: 'array', items: { type: 'string', maxLength: 20 }, minItems: 2, maxItems: 4 },
    price: { type: 'number', minimum: 0, maximum: 100 }, parts: { type: 'array', maxItems: 3, items: { $ref: '#' } },
  },
};
const whole = { temperature: 1, top_p: 1, top_k: 0 };
const maxTokens = 60;

function vocabularyBytes(size: number, uniform: () => number): Uint8Array[] {
  const pick = (text: string) => text[Math.floor(uniform() * text.length)] as string;
  const several = (most: number, from: string) => Array.from({ length: 1 + Math.floor(uniform() * most) }, () => pick(from)).join('');
  return Array.from({ length: size }, (_, id) => {
    if (id < 256) return Uint8Array.of(id);
    if (uniform() < 0.03) return Buffer.from(several(4, '{}[]":,\\ \n"'));
    return Buffer.from(`${uniform() < 0.5 ? ' ' : ''}${several(9, 'etaoinshrdlucmfwypvbgkjqxz')}${uniform() < 0.02 ? pick('",:é漢') : ''}`);
  });
}

function measure(size: number) {
  const uniform = uniforms(1);
  const bytes = vocabularyBytes(size, uniform);
  const vocabulary = readVocabulary(size, (id) => bytes[id], [0]);
  const logits = Float32Array.from({ length: size }, () => uniform() * 6);
  const json = new JsonText();
  const grammar = new Grammar(json.algebra, schemaDocuments(json, schema), vocabulary, [json.anyCharacter, json.character]);
  const timed = <T>(add: (ms: number) => void, work: () => T): T => {
    const begin = performance.now();
    const result = work();
    add(performance.now() - begin);
    return result;
  };
  for (let i = 0; i < 20; i++) pickToken(distribution(logits, 1), whole, uniform()); // compiled before it is timed
  const answer = () => {
    const constraint = grammar.constraint();
    const ms = { grammar: 0, masking: 0, drawing: 0, tokens: 0 };
    for (; ms.tokens < maxTokens && !constraint.complete; ms.tokens++) {
      const allowed = timed((t) => { ms.grammar += t; }, () => constraint.allowed());
      const restricted = timed((t) => { ms.masking += t; }, () => restrict(logits, allowed));
      timed((t) => { ms.drawing += t; }, () => pickToken(distribution(logits, 1), whole, uniform()));
      const { token } = pickToken(distribution(restricted, 1), whole, uniform());
      timed((t) => { ms.grammar += t; }, () => constraint.accept(token));
    }
    return (ms.grammar + ms.masking) / ms.drawing;
  };
  const ratios = Array.from({ length: 16 }, answer);
  const later = ratios.slice(6).sort((a, b) => a - b);
  return { vocabulary: size, first_answer_ratio: ratios[0] as number, later_answers_ratio: later[later.length >> 1] as number };
}

const results = [49_152, 262_144].map(measure);
if (options.json) process.stdout.write(`${JSON.stringify(results, null, 1)}\n`);
else for (const r of results) process.stdout.write(`${r.vocabulary} tokens: ${r.first_answer_ratio.toFixed(2)} of drawing a token in the first answer, ${r.later_answers_ratio.toFixed(2)} later\n`);
