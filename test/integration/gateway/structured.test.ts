import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { toTrajectories } from '../../../trainer/adapter/trajectories.ts';
import { toTransitions } from '../../../trainer/adapter/transitions.ts';
import { trainRows } from '../../../trainer/algorithms/rows.ts';
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

  it('constrained and free requests side by side give what each gives alone', async () => {
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

  /** Rows of an answer under the format, as the trainer makes them of its span. */
  const rowsUnder = async (seed: number, format: Record<string, unknown>) => {
    const { rollout_id, baseURL } = attempt(seed);
    const { choices: [choice] } = await served.client(baseURL).chat.completions.create({ model, messages, max_tokens: 60, ...format });
    const { transitions, losses } = toTransitions({ rollout: { rollout_id }, spans: served.store.listSpans(rollout_id) });
    assert.deepEqual(losses, []);
    return { choice: choice!, rows: toTrajectories(transitions, 'trajectory') };
  };

  it('answers under a format are trained with the log-probabilities they were drawn with', async () => {
    const tools = [zodFunction({ name: 'move', parameters: Move })];
    const formats = [{ response_format: zodResponseFormat(Pet, 'pet') }, { response_format: { type: 'json_object' } }, { tools, tool_choice: 'required' }, { tools }, {}];
    for (const [i, format] of formats.entries()) {
      const { rows } = await rowsUnder(i + 1, format);
      const trainer = await policy.logprobs(rows);
      rows.forEach((row, r) => row.logprobs.forEach((logprob, at) => assert.ok(Math.abs(logprob - trainer[r]![at]!) < 1e-4, `${JSON.stringify(format)} at ${at}: ${logprob} and ${trainer[r]![at]}`)));
      const free = await policy.logprobs(rows.map(({ tokens, mask, temperature }) => ({ tokens, mask, temperature })));
      assert.equal(rows.some((row, r) => row.logprobs.some((logprob, at) => Math.abs(logprob - free[r]![at]!) > 0.1)), Object.keys(format).length > 0, 'only a format makes a difference');
    }
  }).timeout(120_000);

  it('GRPO learns which of the possible answers are good', async () => {
    const own = await openPolicy(path.join(folder, model), { threads: 1 });
    served.gateway.backends.set('policy', own.chat);
    const format = { response_format: zodResponseFormat(z.object({ kind: z.enum(['cat', 'dog', 'emu']) }), 'pet') };
    const rewards: number[] = [];
    for (let step = 0; step < 8; step++) {
      const answers = await Promise.all(Array.from({ length: 16 }, (_, i) => rowsUnder(100 * step + i, format)));
      const earned = answers.map(({ choice }) => (choice.message.content!.includes('emu') ? 1 : 0) as number);
      const mean = earned.reduce((a, b) => a + b, 0) / earned.length;
      rewards.push(mean);
      const rollouts = answers.map(({ rows }, i) => ({ trajectories: rows, advantages: new Map(rows.flatMap((row) => row.calls.map(({ span_id, length }) => [span_id, Array<number>(length).fill(earned[i]! - mean)] as const))) }));
      const metrics = await own.update([trainRows(rollouts, { loss_agg_mode: 'token-mean', loss_scale_factor: undefined })], {
        lr: 0.004, betas: [0.9, 0.95], weight_decay: 0, max_grad_norm: 1, clip_ratio_low: 0.2, clip_ratio_high: 0.28, clip_ratio_c: 3, importance_sampling_level: 'token', rollout_is: 'none',
        rollout_is_threshold: 2, entropy_coeff: 0, kl_loss_coef: 0, kl_loss_type: 'k3', micro_batch_tokens: 1024, ppo_epochs: 1,
      });
      assert.ok(metrics.logprob_max_diff < 1e-4, String(metrics.logprob_max_diff));
    }
    served.gateway.backends.set('policy', policy.chat);
    await own.close();
    assert.ok(rewards[0]! <= 0.5 && rewards.slice(-3).every((reward) => reward > 0.8), String(rewards));
  }).timeout(300_000);

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
