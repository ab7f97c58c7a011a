import assert from 'node:assert/strict';
import { callSeed } from '../../../trainer/gateway/call-seed.ts';
import { applyOverrides, parseChatRequest } from '../../../trainer/gateway/chat-request.ts';
import { defaultRetry, delayMs, retryAfterSeconds } from '../../../trainer/gateway/retry.ts';
import { sampledTokens } from '../../../trainer/gateway/sampled-tokens.ts';
import { refusedParameters, upstreamError } from '../../../trainer/gateway/upstream-error.ts';
import { samplingOf } from '../../../trainer/gateway/upstream-request.ts';
import { ChatCompletion, ChatRequest } from '../../../trainer/protocol/chat.ts';
import type { EffectiveSampling } from '../../../trainer/protocol/chat.ts';
import { completion } from '../../fixtures/openai-server.ts';

describe('call seed', () => {
  it('differs for every rollout seed and call, also beyond 32 bits', () => {
    const seeds = new Set<number>();
    for (const seed of [0, 1, 2, 2 ** 31, 2 ** 32, 2 ** 32 + 1, -1]) for (let call = 0; call < 100; call++) seeds.add(callSeed(seed, call));
    assert.equal(seeds.size, 700);
    assert.ok([...seeds].every((seed) => Number.isInteger(seed) && seed >= 0 && seed < 2 ** 32));
  });

  it('stays what it was: recorded runs repeat', () => {
    assert.deepEqual([callSeed(0, 0), callSeed(42, 0), callSeed(42, 1)], [2087924856,2538419493,1606908252]);
  });
});

describe('overrides', () => {
  const base = parseChatRequest('{"model": "m", "messages": [{"role": "user", "content": "x"}], "max_completion_tokens": 5, "top_p": 0.5}');

  it('replace the agent\'s parameters under the name the agent used', () => {
    const effective = applyOverrides(base, { temperature: 1, max_tokens: 9 }, 3);
    assert.deepEqual([effective.temperature, effective.max_completion_tokens, effective.max_tokens, effective.top_p, effective.seed], [1, 9, undefined, 0.5, 3]);
  });

  it('keep from other servers what only the local policy knows', () => {
    assert.deepEqual(applyOverrides(base, { dtype: 'int8' }, null), base);
  });

  it('leave the request alone when there are none', () => {
    assert.deepEqual(applyOverrides(base, {}, null), base);
  });
});

describe('Retry-After', () => {
  it('is seconds or a date', () => {
    assert.equal(retryAfterSeconds('2'), 2);
    assert.equal(retryAfterSeconds(new Date(10_000).toUTCString(), 4_000), 6);
    assert.equal(retryAfterSeconds('soon'), null);
    assert.equal(retryAfterSeconds(null), null);
  });
});

describe('waiting between tries', () => {
  const settings = { ...defaultRetry, baseDelayMs: 100, maxDelayMs: 1000 };

  it('doubles up to the longest wait, half of it at random', () => {
    assert.deepEqual([1, 2, 3, 4, 5, 9].map((tried) => delayMs(tried, 0, settings, 1)), [100, 200, 400, 800, 1000, 1000]);
    assert.equal(delayMs(1, 0, settings, 0), 50);
  });

  it('is never shorter than the server asks for, and not at all when it asks too much', () => {
    assert.equal(delayMs(1, 700, settings, 1), 700);
    assert.equal(delayMs(1, 1001, settings), null);
  });
});

describe('sampled tokens', () => {
  const sampling: EffectiveSampling = { temperature: 1, top_p: 1, top_k: 0, max_tokens: null, seed: null, stop: [], constrained: false };
  const answer = (tokenIds: number[], logprobs: number[]) => ChatCompletion.parse(completion('m', { content: 'x' }, {
    top: { prompt_token_ids: [1] }, choice: { token_ids: tokenIds, logprobs: { content: logprobs.map((logprob) => ({ token: 'x', logprob })) } },
  }));

  it('need as many log-probabilities as ids', () => {
    assert.deepEqual(sampledTokens(answer([5, 6], [-1, -2]), sampling)?.response_logprobs, [-1, -2]);
    assert.equal(sampledTokens(answer([5, 6], [-1]), sampling)?.response_logprobs, null);
  });

  it('have log-probabilities only of the distribution that was sampled', () => {
    for (const other of [{ temperature: 0.7 }, { temperature: null }, { top_p: 0.9 }, { top_k: 20 }, { top_k: null }, { constrained: true }]) {
      assert.equal(sampledTokens(answer([5], [-1]), { ...sampling, ...other })?.response_logprobs, null);
    }
  });
});

describe('the sampling that a server is asked for', () => {
  const constrained = (fields: Record<string, unknown>) => samplingOf(ChatRequest.parse({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...fields })).constrained;
  const tools = (strict: boolean) => [{ type: 'function', function: { name: 'f', strict } }];

  it('is constrained by a format, a strict tool or a forced call', () => {
    for (const fields of [{ response_format: { type: 'json_object' } }, { response_format: { type: 'json_schema', json_schema: {} } }, { tools: tools(true) }, { tools: tools(false), tool_choice: 'required' }]) assert.equal(constrained(fields), true);
    for (const fields of [{}, { response_format: { type: 'text' } }, { response_format: null }, { tools: tools(false) }, { tools: tools(true), tool_choice: 'none' }, { tools: tools(false), tool_choice: 'auto' }]) assert.equal(constrained(fields), false);
  });
});

describe('errors of model servers', () => {
  it('are read in every shape in use', () => {
    const read = (body: string) => upstreamError('http://s', 400, body, null).message;
    assert.equal(read('{"error":{"message":"a","type":"t"}}'), 'a');
    assert.equal(read('{"object":"error","message":"b","type":"t","code":400}'), 'b');
    assert.equal(read('{"error":"c"}'), 'c');
    assert.equal(read('{"detail":[{"loc":["body","x"]}]}'), '[{"loc":["body","x"]}]');
    assert.equal(read('<h1>d</h1>'), '<h1>d</h1>');
    assert.equal(read(''), 'HTTP status 400');
  });

  it('name a refused parameter as a whole word', () => {
    const error = upstreamError('http://s', 400, '{"error":{"message":"top_logprobs must be 0"}}', null);
    assert.deepEqual(refusedParameters(error, ['logprobs', 'return_token_ids']), []);
    assert.deepEqual(refusedParameters(upstreamError('http://s', 422, '{"detail":[{"loc":["body","return_token_ids"]}]}', null), ['logprobs', 'return_token_ids']), ['return_token_ids']);
    assert.deepEqual(refusedParameters(upstreamError('http://s', 500, '{"error":{"message":"logprobs"}}', null), ['logprobs']), []);
  });
});
