import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { openPolicy } from '../../../trainer/policy/open-policy.ts';
import { attr, numbersOf } from '../../../trainer/protocol/span.ts';
import { makeTinyPolicy } from '../../fixtures/tiny-policy.ts';
import { key, serveGateway } from './served-gateway.ts';
import type { ServedGateway } from './served-gateway.ts';

const Pet = z.object({
  kind: z.enum(['cat', 'dog']), leg: z.object({ n: z.number().int().min(1).max(4) }), born: z.string().regex(/^20[0-2]\d$/).nullable(),
  food: z.union([z.literal('hay'), z.boolean()]), weights: z.array(z.number().min(0.5).max(0.75)).max(1),
});
const Move = z.object({ north: z.boolean(), steps: z.number().int().gt(0).lt(10) });
const model = 'tiny-policy';
const messages = [{ role: 'user' as const, content: 'Say 1' }];
const seeds = Array.from({ length: 12 }, (_, i) => i + 1);

describe('structured answers of the local policy', () => {
  let folder: string;
  let served: ServedGateway;
  let policy: Awaited<ReturnType<typeof openPolicy>>;

  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'policy-'));
    await makeTinyPolicy(path.join(folder, model));
    served = await serveGateway();
    policy = await openPolicy(path.join(folder, model), { threads: 1 });
    served.gateway.backends.set('policy', policy.chat);
  });
  after(async () => {
    await served.close();
    await policy.close();
    rmSync(folder, { recursive: true });
  });

  const attempt = (seed: number) => served.startAttempt({ backend: 'policy', seed, sampling: { temperature: 1 } });
  const completions = (seed: number) => served.client(attempt(seed).baseURL).chat.completions;

  it('the Node SDK parses what a random model says: documents', async () => {
    const kinds = new Set<string>();
    for (const seed of seeds) {
      const { choices: [choice] } = await completions(seed).parse({ model, messages, response_format: zodResponseFormat(Pet, 'pet') });
      assert.equal(choice!.finish_reason, 'stop');
      kinds.add(Pet.parse(choice!.message.parsed).kind);
    }
    assert.deepEqual([...kinds].sort(), ['cat', 'dog']);
  }).timeout(120_000);

  it('calls', async () => {
    const tools = [zodFunction({ name: 'move', parameters: Move }), zodFunction({ name: 'stay', parameters: z.object({}) })];
    for (const seed of seeds) {
      const { choices: [choice] } = await completions(seed).parse({ model, messages, tools, tool_choice: { type: 'function', function: { name: 'move' } } });
      const [call, ...more] = choice!.message.tool_calls!;
      assert.deepEqual([choice!.finish_reason, choice!.message.content, call!.function.name, more], ['tool_calls', null, 'move', []]);
      Move.parse(call!.function.parsed_arguments);
    }
  }).timeout(120_000);

  it('streams', async () => {
    for (const seed of seeds.slice(0, 4)) {
      const deltas: string[] = [];
      const stream = completions(seed).stream({ model, messages, response_format: zodResponseFormat(Pet, 'pet') }).on('content', (delta) => void deltas.push(delta));
      const { parsed } = (await stream.finalChatCompletion()).choices[0]!.message;
      assert.deepEqual(parsed, Pet.parse(JSON.parse(deltas.join(''))));
      const whole = await completions(seed).parse({ model, messages, response_format: zodResponseFormat(Pet, 'pet') });
      assert.deepEqual(whole.choices[0]!.message.parsed, parsed);
    }
  }).timeout(120_000);

  it('constrained and free requests side by side give what each gives alone, and only the free ones train', async () => {
    const ask = async (seed: number, format: boolean) => {
      const { rollout_id, baseURL } = attempt(seed);
      await served.client(baseURL).chat.completions.create({ model, messages, max_tokens: 60, ...(format ? { response_format: zodResponseFormat(Pet, 'pet') } : {}) });
      const [span] = served.store.listSpans(rollout_id);
      assert.equal(span!.attributes[attr.constrained], format ? true : undefined);
      return [attr.responseTokenIds, attr.responseLogprobs].map((name) => numbersOf(span!, name));
    };
    const cases = seeds.slice(0, 6).map((seed) => [seed, seed % 2 === 0] as const);
    const alone = [];
    for (const [seed, format] of cases) alone.push(await ask(seed, format));
    assert.deepEqual(await Promise.all(cases.map(([seed, format]) => ask(seed, format))), alone);
  }).timeout(120_000);

  it('an answer that is cut off says so; a schema that cannot be followed is refused with its place', async () => {
    const { choices: [choice] } = await completions(1).create({ model, messages, max_tokens: 5, response_format: zodResponseFormat(Pet, 'pet') });
    assert.equal(choice!.finish_reason, 'length');
    const schema = { type: 'object', properties: { a: { anyOf: [{ type: 'string' }, { not: {} }] } } };
    const refused = (ask: Promise<unknown>, param: string, code: string, message: RegExp) => assert.rejects(ask, (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError);
      assert.deepEqual([error.param, error.code], [param, code]);
      assert.match(error.message, message);
      return true;
    });
    await refused(completions(1).create({ model, messages, response_format: { type: 'json_schema', json_schema: { name: 'bad', schema } } }), 'response_format', 'invalid_json_schema', /'bad': at #\/properties\/a\/anyOf\/1: the keyword "not" is not supported/);
    await refused(completions(1).create({ model, messages, tools: [{ type: 'function', function: { name: 'f', strict: true, parameters: schema } }] }), 'tools[0].function.parameters', 'invalid_function_parameters', /#\/properties\/a\/anyOf\/1/);
    await refused(completions(1).create({ model, messages, tool_choice: 'required' }), 'tool_choice', 'invalid_value', /there are no tools/);
  });

  it('the Python SDK parses them, too, streamed or not', async function () {
    const script = path.join(import.meta.dirname, '..', '..', '..', 'scripts', 'openai-python.mjs');
    const found = (await import(script) as { findOpenAIPython: () => { python: string; path: string } | { missing: string } }).findOpenAIPython();
    if ('missing' in found) {
      process.stdout.write(`      ${found.missing}\n`);
      return this.skip();
    }
    const urls = seeds.slice(0, 4).map((seed) => attempt(seed).baseURL);
    const { stdout } = await promisify(execFile)(found.python, [path.join(import.meta.dirname, '..', '..', 'fixtures', 'structured.py'), JSON.stringify(urls), key], { env: { ...process.env, PYTHONPATH: found.path } });
    const { pets, moves, streamed, refused } = JSON.parse(stdout) as { pets: { kind: string }[]; moves: { steps: number }[]; streamed: unknown[]; refused: { code: string; message: string } };
    assert.deepEqual([pets.length, moves.length, streamed.length], [4, 4, 4]);
    assert.ok(pets.every(({ kind }) => ['cat', 'dog'].includes(kind)) && moves.every(({ steps }) => steps >= 1 && steps <= 9));
    assert.equal(refused.code, 'invalid_json_schema');
    assert.match(refused.message, /#\/properties\/a: the keyword "not"/);
  }).timeout(300_000);
});
