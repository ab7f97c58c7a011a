/**
 * What following a JSON schema costs while sampling.
 *
 *   npx tsx bench/constrained.ts [--json] [--threads N]
 *
 * Models with random weights in the shapes of SmolLM2 135M (49,152 tokens) and Gemma 3 270M (262,144 tokens), a made-up vocabulary of bytes, pieces of JSON
 * and words. Answers are drawn at temperature 1 under a schema, alone and eight at a time, first with nothing known of the schema (cold), then again with other
 * seeds (warm). share = time in the grammar (masks, masking logits, following the text) / whole time of sampling, both of the same run.
 */
import { parseArgs } from 'node:util';
import { Grammar } from '../trainer/grammar/grammar.ts';
import { JsonText } from '../trainer/grammar/json-text.ts';
import { schemaDocuments } from '../trainer/grammar/schema.ts';
import { readVocabulary } from '../trainer/grammar/vocabulary.ts';
import { decoderConfig } from '../trainer/models/decoder-config.ts';
import { Detokenizer } from '../trainer/models/detokenizer.ts';
import { wholeModel } from '../trainer/models/policy-weights.ts';
import { initialParameters } from '../trainer/models/weights.ts';
import { DecodeModel } from '../trainer/policy/decode-model.ts';
import { uniforms } from '../trainer/policy/random.ts';
import { Sampler } from '../trainer/policy/sampler.ts';
import { restrict, type TokenConstraint } from '../trainer/policy/sampling.ts';

const { values: options } = parseArgs({ options: { json: { type: 'boolean' }, threads: { type: 'string', default: '2' } } });
const shapes = {
  'SmolLM2 135M, 49,152 tokens': decoderConfig('llama', { vocab: 49_152, hidden: 576, intermediate: 1536, layers: 30, heads: 9, kvHeads: 3, headDim: 64, contextLength: 512 }),
  'Gemma 3 270M, 262,144 tokens': decoderConfig('gemma3_text', { vocab: 262_144, hidden: 640, intermediate: 2048, layers: 18, heads: 4, kvHeads: 1, headDim: 256, contextLength: 512 }),
};
const schema = {
  type: 'object', required: ['name', 'kind', 'tags', 'price', 'parts'], additionalProperties: false,
  properties: {
    name: { type: 'string', maxLength: 60 }, kind: { enum: ['tool', 'toy', 'tooth'] }, tags: { type: 'array', items: { type: 'string', maxLength: 20 }, minItems: 2, maxItems: 4 },
    price: { type: 'number', minimum: 0, maximum: 100 }, parts: { type: 'array', maxItems: 3, items: { $ref: '#' } },
  },
};
const maxTokens = 48;

function vocabularyBytes(size: number): Uint8Array[] {
  const uniform = uniforms(1);
  const pick = (text: string) => text[Math.floor(uniform() * text.length)] as string;
  return Array.from({ length: size }, (_, id) => {
    if (id < 256) return Uint8Array.of(id);
    if (uniform() < 0.03) return Buffer.from(Array.from({ length: 1 + Math.floor(uniform() * 4) }, () => pick('{}[]":,\\ \n"')).join(''));
    const word = Array.from({ length: 1 + Math.floor(uniform() * 9) }, () => pick('etaoinshrdlucmfwypvbgkjqxz')).join('');
    return Buffer.from(`${uniform() < 0.5 ? ' ' : ''}${word}${uniform() < 0.02 ? pick('",:é漢') : ''}`);
  });
}

async function measure(name: keyof typeof shapes) {
  const config = shapes[name];
  const bytes = vocabularyBytes(config.vocab);
  let from = performance.now();
  const vocabulary = readVocabulary(config.vocab, (id) => bytes[id], [0]);
  const vocabularyMs = performance.now() - from;
  const model = new DecodeModel(config, wholeModel(initialParameters(config, 1)), { provider: 'cpu', threads: Number(options.threads) }, 8);
  let left = 0;
  let tokens = 0;
  const sampler = new Sampler(model, [0], () => new Detokenizer((id) => bytes[id]), (event) => {
    if (event.type === 'failed') throw event.error;
    if (event.type === 'done') left--;
    if (event.type === 'token') tokens++;
  });
  const run = async (count: number, constraint: (() => TokenConstraint) | null, seed: number) => {
    from = performance.now();
    left = count;
    tokens = 0;
    for (let i = 0; i < count; i++) sampler.submit({ id: seed + i, prompt: [70, 71, 72], max_tokens: maxTokens, seed: seed + i, temperature: 1, top_p: 1, top_k: 0, stop: [], top_logprobs: 0, constraint: constraint?.() ?? null });
    while (left > 0) {
      if (sampler.waiting) await sampler.admit();
      if (sampler.running) await sampler.step();
    }
    return { ms: performance.now() - from, tokens };
  };
  await run(1, null, 1);
  await run(8, null, 10);
  const results = [];
  for (const count of [1, 8]) {
    from = performance.now();
    const json = new JsonText();
    const grammar = new Grammar(json.algebra, schemaDocuments(json, schema), vocabulary, [json.anyCharacter, json.character]);
    const compileMs = performance.now() - from;
    let inGrammar = 0;
    const timed = <T>(work: () => T): T => {
      const begin = performance.now();
      const result = work();
      inGrammar += performance.now() - begin;
      return result;
    };
    const blank = new Float32Array(config.vocab);
    const constraint = (): TokenConstraint => {
      const inner = grammar.constraint();
      // Masking is done by the sampler: once more here, where it can be timed.
      return {
        allowed: () => timed(() => { restrict(blank, inner.allowed()); return inner.allowed(); }),
        accept: (token) => timed(() => inner.accept(token)),
        get complete() { return inner.complete; },
      };
    };
    for (const state of ['cold', 'warm', 'warm', 'warm'] as const) {
      inGrammar = 0;
      const seed = 100 * (results.length + 1) + count;
      const { ms, tokens: drawn } = await run(count, constraint, seed);
      results.push({ model: name, answers: count, state, tokens: drawn, share: inGrammar / ms, grammar_ms_per_token: inGrammar / drawn, compile_ms: compileMs, vocabulary_ms: vocabularyMs });
    }
  }
  await model.release();
  return results;
}

const results = [];
for (const name of Object.keys(shapes) as (keyof typeof shapes)[]) results.push(...await measure(name));
if (options.json) process.stdout.write(`${JSON.stringify(results, null, 1)}\n`);
else for (const r of results) process.stdout.write(`${r.model}, ${r.answers} at a time, ${r.state}: ${(100 * r.share).toFixed(1)} % of the time (${r.grammar_ms_per_token.toFixed(2)} ms per token; schema ${r.compile_ms.toFixed(0)} ms, vocabulary ${r.vocabulary_ms.toFixed(0)} ms)\n`);
