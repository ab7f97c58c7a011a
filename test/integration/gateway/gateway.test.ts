import assert from 'node:assert/strict';
import { once } from 'node:events';
import OpenAI from 'openai';
import { attr } from '../../../trainer/protocol/span.ts';
import type { Span } from '../../../trainer/protocol/span.ts';
import { callSeed } from '../../../trainer/gateway/call-seed.ts';
import { traceIdOf } from '../../../trainer/store/ids.ts';
import { chunk, completion, json, refuse, say, stream } from '../../fixtures/openai-server.ts';
import { key, serveGateway } from './served-gateway.ts';
import type { ServedGateway } from './served-gateway.ts';

const hello = [{ role: 'user' as const, content: 'hi' }];

describe('gateway with the OpenAI SDK', () => {
  let served: ServedGateway;
  beforeEach(async () => { served = await serveGateway(); });
  afterEach(() => served.close());

  const spansOf = (rollout_id: string): Span[] => served.store.listSpans(rollout_id);
  const only = (spans: Span[]): Span => {
    assert.equal(spans.length, 1);
    return spans[0]!;
  };
  const spanArrives = (rollout_id: string): Promise<Span> => new Promise((resolve) => {
    const look = (): void => {
      const [span] = spansOf(rollout_id);
      if (span) resolve(span);
    };
    served.store.onEvent(look);
    look();
  });

  it('answers and records ids, log-probabilities, messages and parameters', async () => {
    served.server.next(say('Good morning'));
    const { rollout_id, attempt_id, baseURL } = served.startAttempt({ sampling: { temperature: 1, top_p: 1, top_k: 0 } });
    const answer = await served.client(baseURL).chat.completions.create({ model: 'tiny', messages: hello, temperature: 0.2, max_tokens: 9 });
    assert.equal(answer.choices[0]?.message.content, 'Good morning');
    assert.equal(answer.choices[0]?.logprobs, undefined);
    assert.ok(!('token_ids' in answer.choices[0]));
    assert.ok(!('prompt_token_ids' in answer));

    const span = only(spansOf(rollout_id));
    assert.equal(span.name, 'chat tiny');
    assert.equal(span.attempt_id, attempt_id);
    assert.equal(span.trace_id, traceIdOf(attempt_id));
    assert.equal(span.parent_id, null);
    assert.equal(span.status.status_code, 'OK');
    assert.ok(span.end_time !== null && span.end_time >= span.start_time);
    const { attributes } = span;
    assert.deepEqual(attributes[attr.promptTokenIds], [1, 2, 3]);
    assert.deepEqual(attributes[attr.responseTokenIds], [7, 8]);
    assert.deepEqual(attributes[attr.responseLogprobs], [-0.5, -0.5]);
    assert.equal(attributes[attr.requestTemperature], 1);
    assert.equal(attributes[attr.requestMaxTokens], 9);
    assert.deepEqual(JSON.parse(attributes[attr.requestedParameters] as string), { temperature: 0.2, max_tokens: 9 });
    assert.deepEqual(JSON.parse(attributes[attr.inputMessages] as string), hello);
    assert.deepEqual(JSON.parse(attributes[attr.outputMessages] as string), [{ role: 'assistant', content: 'Good morning' }]);
    assert.deepEqual(attributes[attr.finishReasons], ['stop']);
    assert.equal(attributes[attr.inputTokens], 5);
    assert.equal(attributes[attr.outputTokens], 2);
    assert.equal(attributes[attr.callIndex], 0);

    const sent = served.server.requests[0]!;
    assert.equal(sent.headers.authorization, 'Bearer sk-upstream');
    assert.equal(sent.body['temperature'], 1);
    assert.ok(!('top_k' in sent.body));
  });

  it('keeps no log-probabilities of another distribution than the one sampled from', async () => {
    const { rollout_id, baseURL } = served.startAttempt();
    await served.client(baseURL).chat.completions.create({ model: 'tiny', messages: hello, temperature: 0.5, top_p: 1 });
    const { attributes } = only(spansOf(rollout_id));
    assert.deepEqual(attributes[attr.responseTokenIds], [7]);
    assert.equal(attributes[attr.responseLogprobs], undefined);
  });

  it('streams, and records the same as without streaming', async () => {
    served.server.next(say('one two three'));
    const { rollout_id, baseURL } = served.startAttempt({ sampling: { temperature: 1, top_p: 1, top_k: 0 } });
    const parts: string[] = [];
    let finished = 0;
    for await (const part of await served.client(baseURL).chat.completions.create({ model: 'tiny', messages: hello, stream: true })) {
      assert.equal(part.usage, undefined);
      assert.ok(!('token_ids' in part.choices[0]!));
      parts.push(part.choices[0]?.delta.content ?? '');
      if (part.choices[0]?.finish_reason === 'stop') {
        finished++;
        assert.equal(spansOf(rollout_id).length, 1, 'the span is there before the agent knows of the end');
      }
    }
    assert.deepEqual(parts, ['', 'one ', 'two ', 'three', '']);
    assert.equal(finished, 1);
    const { attributes } = only(spansOf(rollout_id));
    assert.deepEqual(attributes[attr.responseTokenIds], [7, 8, 9]);
    assert.deepEqual(attributes[attr.responseLogprobs], [-0.5, -0.5, -0.5]);
    assert.deepEqual(attributes[attr.promptTokenIds], [1, 2, 3]);
    assert.equal(attributes[attr.outputTokens], 2);
    assert.deepEqual(JSON.parse(attributes[attr.outputMessages] as string), [{ role: 'assistant', content: 'one two three' }]);
  });

  it('relays events as they come', async () => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => { release = resolve; });
    served.server.next(async ({ body }, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify(chunk(body['model'], { content: 'first' }))}\n\n`);
      await released;
      response.end(`data: ${JSON.stringify(chunk(body['model'], {}, { choice: { finish_reason: 'stop' } }))}\n\ndata: [DONE]\n\n`);
    });
    const { baseURL } = served.startAttempt();
    const events = (await served.client(baseURL).chat.completions.create({ model: 'tiny', messages: hello, stream: true }))[Symbol.asyncIterator]();
    const first = await events.next();
    assert.equal((first.value as OpenAI.ChatCompletionChunk).choices[0]?.delta.content, 'first');
    release();
    await events.next();
    assert.equal((await events.next()).done, true);
  });

  it('gives usage and log-probabilities to an agent that asks for them', async () => {
    const { baseURL } = served.startAttempt();
    const parts = [];
    for await (const part of await served.client(baseURL).chat.completions.create({ model: 'tiny', messages: hello, stream: true, logprobs: true, stream_options: { include_usage: true } })) parts.push(part);
    assert.deepEqual(parts.at(-1)?.choices, []);
    assert.equal(parts.at(-1)?.usage?.total_tokens, 7);
    assert.ok(parts.slice(0, -1).every((part) => part.usage === null));
    assert.equal(parts[1]?.choices[0]?.logprobs?.content?.[0]?.logprob, -0.5);
  });

  it('assembles interleaved tool-call deltas by index', async () => {
    served.server.next(stream(({ body: { model } }) => [
      chunk(model, { role: 'assistant', content: null, tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'add', arguments: '' } }] }),
      chunk(model, { tool_calls: [{ index: 1, id: 'b', type: 'function', function: { name: 'mul', arguments: '{"y"' } }] }),
      chunk(model, { tool_calls: [{ index: 0, function: { arguments: '{"x":' } }] }),
      chunk(model, { tool_calls: [{ index: 1, function: { arguments: ':2}' } }, { index: 0, function: { arguments: '1}' } }] }),
      chunk(model, {}, { choice: { finish_reason: 'tool_calls' } }),
    ]));
    const { rollout_id, baseURL } = served.startAttempt();
    const tools = [{ type: 'function' as const, function: { name: 'add' } }, { type: 'function' as const, function: { name: 'mul' } }];
    const answer = await served.client(baseURL).chat.completions.stream({ model: 'tiny', messages: hello, tools }).finalChatCompletion();
    const calls = answer.choices[0]?.message.tool_calls?.map((call) => call.type === 'function' && [call.id, call.function.name, call.function.arguments]);
    assert.deepEqual(calls, [['a', 'add', '{"x":1}'], ['b', 'mul', '{"y":2}']]);
    const { attributes } = only(spansOf(rollout_id));
    const [message] = JSON.parse(attributes[attr.outputMessages] as string) as [{ tool_calls: unknown }];
    assert.deepEqual(message.tool_calls, [
      { id: 'a', type: 'function', function: { name: 'add', arguments: '{"x":1}' } },
      { id: 'b', type: 'function', function: { name: 'mul', arguments: '{"y":2}' } },
    ]);
    assert.deepEqual(JSON.parse(attributes[attr.toolDefinitions] as string), tools);
    assert.deepEqual(attributes[attr.finishReasons], ['tool_calls']);
  });

  it('serves calls without a rollout and records nothing', async () => {
    const answer = await served.client(`${served.url}/v1`).chat.completions.create({ model: 'tiny', messages: hello });
    assert.equal(answer.choices[0]?.message.content, 'Hello.');
  });

  it('forgives a doubled /v1 and lists models', async () => {
    const { baseURL } = served.startAttempt();
    assert.equal((await served.client(`${baseURL}/v1`).chat.completions.create({ model: 'tiny', messages: hello })).choices.length, 1);
    const models = [];
    for await (const model of served.client(baseURL).models.list()) models.push(model.id);
    assert.deepEqual(models, ['tiny']);
  });

  it('counts calls, hands each its own seed, and takes the parent from traceparent', async () => {
    const { rollout_id, attempt_id, baseURL } = served.startAttempt({ seed: 42 });
    const client = served.client(baseURL);
    const traceparent = `00-${traceIdOf(attempt_id)}-00000000000000aa-01`;
    await client.chat.completions.create({ model: 'tiny', messages: hello }, { headers: { traceparent } });
    await client.chat.completions.create({ model: 'tiny', messages: hello }, { headers: { traceparent: `00-${'1'.repeat(32)}-00000000000000aa-01` } });
    await client.chat.completions.create({ model: 'tiny', messages: hello, seed: 5 });
    assert.deepEqual(served.server.requests.map((request) => request.body['seed']), [callSeed(42, 0), callSeed(42, 1), 5]);
    const spans = spansOf(rollout_id);
    assert.deepEqual(spans.map((span) => span.attributes[attr.callIndex]), [0, 1, 2]);
    assert.deepEqual(spans.map((span) => span.parent_id), ['00000000000000aa', null, null]);
    assert.deepEqual(spans.map((span) => span.attributes[attr.requestSeed]), [callSeed(42, 0), callSeed(42, 1), 5]);
  });

  describe('errors', () => {
    const failure = async (work: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> => {
      const error = await work.then(() => assert.fail('it succeeded'), (reason: unknown) => reason);
      assert.ok(error instanceof OpenAI.APIError, String(error));
      return error;
    };
    const post = (path: string, body: string): Promise<Response> => fetch(served.url + path, { method: 'POST', body, headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' } });

    it('an unknown model gets the list of what exists', async () => {
      const { rollout_id, baseURL } = served.startAttempt();
      const error = await failure(served.client(baseURL).chat.completions.create({ model: 'gpt-4o', messages: hello }));
      assert.ok(error instanceof OpenAI.NotFoundError);
      assert.equal(error.code, 'model_not_found');
      assert.match(error.message, /`gpt-4o` does not exist here\. Available: `tiny`/);
      const span = only(spansOf(rollout_id));
      assert.equal(span.status.status_code, 'ERROR');
      assert.equal(span.attributes[attr.errorType], 'model_not_found');
      assert.equal(span.attributes[attr.httpStatus], 404);
    });

    it('a wrong type names the field', async () => {
      const { baseURL } = served.startAttempt();
      const error = await failure(served.client(baseURL).chat.completions.create({ model: 'tiny', messages: hello, temperature: 'hot' as unknown as number }));
      assert.ok(error instanceof OpenAI.BadRequestError);
      assert.equal(error.param, 'temperature');
      const nested = await failure(served.client(baseURL).chat.completions.create({ model: 'tiny', messages: [...hello, { role: 'wizard' as 'user', content: '' }] }));
      assert.equal(nested.param, 'messages[1].role');
      const missing = await failure(served.client(baseURL).chat.completions.create({ model: 'tiny' } as OpenAI.ChatCompletionCreateParamsNonStreaming));
      assert.match(missing.message, /Missing required parameter: 'messages'/);
    });

    it('malformed JSON gets 400 and is part of the trace', async () => {
      const { rollout_id, baseURL } = served.startAttempt();
      const response = await post(`${new URL(baseURL).pathname}/chat/completions`, '{"model": "tiny", ');
      assert.equal(response.status, 400);
      const { error } = await response.json() as { error: Record<string, unknown> };
      assert.equal(error['type'], 'invalid_request_error');
      assert.match(String(error['message']), /not valid JSON/);
      assert.deepEqual(Object.keys(error).sort(), ['code', 'message', 'param', 'type']);
      assert.equal(only(spansOf(rollout_id)).attributes[attr.httpStatus], 400);
    });

    it('a body over the limit gets 413', async () => {
      const response = await post('/v1/chat/completions', 'x'.repeat(33 * 1024 * 1024));
      assert.equal(response.status, 413);
      assert.equal((await response.json() as { error: { code: string } }).error.code, 'request_too_large');
    });

    it('a wrong or missing key gets 401; x-api-key is accepted', async () => {
      const { baseURL } = served.startAttempt();
      const wrong = await failure(new OpenAI({ baseURL, apiKey: 'other', maxRetries: 0 }).chat.completions.create({ model: 'tiny', messages: hello }));
      assert.ok(wrong instanceof OpenAI.AuthenticationError);
      assert.equal((await fetch(`${served.url}/v1/models`)).status, 401);
      assert.equal((await fetch(`${served.url}/v1/models`, { headers: { 'x-api-key': key } })).status, 200);
    });

    it('an unknown rollout gets 404, an attempt that is over 409', async () => {
      const { rollout_id, attempt_id, baseURL } = served.startAttempt();
      const unknown = await failure(served.client(`${served.url}/rollout/ro-000000000000/attempt/${attempt_id}/v1`).chat.completions.create({ model: 'tiny', messages: hello }));
      assert.equal(unknown.status, 404);
      served.store.finishAttempt(rollout_id, attempt_id, { outcome: 'scored', reward: 1 });
      const over = await failure(served.client(baseURL).chat.completions.create({ model: 'tiny', messages: hello }));
      assert.equal(over.status, 409);
      assert.equal(over.code, 'attempt_over');
      assert.equal(served.server.requests.length, 0);
    });

    it('context overflow is told in the OpenAI way', async () => {
      served.server.next(refuse(400, "This model's maximum context length is 32 tokens. However, you requested 40 tokens."));
      const { rollout_id, baseURL } = served.startAttempt();
      const error = await failure(served.client(baseURL).chat.completions.create({ model: 'tiny', messages: hello }));
      assert.equal(error.status, 400);
      assert.equal(error.code, 'context_length_exceeded');
      assert.equal(only(spansOf(rollout_id)).attributes[attr.errorType], 'context_length_exceeded');
    });

    it('a rollout whose backend is gone gets 503', async () => {
      const { baseURL } = served.startAttempt({ backend: 'ended' });
      const error = await failure(served.client(baseURL).chat.completions.create({ model: 'tiny', messages: hello }));
      assert.equal(error.status, 503);
      assert.match(error.message, /"ended" is not being served/);
    });

    it('a stream that breaks off ends in an error, and what came is kept as incomplete', async () => {
      served.server.next(stream(({ body: { model } }) => [chunk(model, { content: 'half an ' }), chunk(model, { content: 'ans' })], { broken: true }));
      const { rollout_id, baseURL } = served.startAttempt();
      const events = await served.client(baseURL).chat.completions.create({ model: 'tiny', messages: hello, stream: true });
      const received: string[] = [];
      await failure((async () => { for await (const part of events) received.push(part.choices[0]?.delta.content ?? ''); })());
      assert.deepEqual(received, ['half an ', 'ans']);
      assert.equal(served.server.requests.length, 1, 'never tried again after the first chunk');
      const span = only(spansOf(rollout_id));
      assert.equal(span.status.status_code, 'ERROR');
      assert.equal(span.attributes[attr.incomplete], true);
      assert.equal(span.attributes[attr.responseTokenIds], undefined);
      assert.match(span.attributes[attr.outputMessages] as string, /half an ans/);
    });

    it('an agent that leaves aborts the model server', async () => {
      let left: Promise<unknown> | undefined;
      served.server.next(({ body }, response) => {
        left = once(response, 'close');
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(`data: ${JSON.stringify(chunk(body['model'], { content: 'endless' }))}\n\n`);
      });
      const { rollout_id, baseURL } = served.startAttempt();
      const events = await served.client(baseURL).chat.completions.create({ model: 'tiny', messages: hello, stream: true });
      for await (const part of events) {
        assert.equal(part.choices[0]?.delta.content, 'endless');
        events.controller.abort();
      }
      await left;
      const span = await spanArrives(rollout_id);
      assert.equal(span.attributes[attr.incomplete], true);
      assert.equal(span.attributes[attr.errorType], 'client_disconnected');
    });

    it('an agent that leaves before any byte aborts the model server', async () => {
      const gone = new AbortController();
      let left: Promise<unknown> | undefined;
      served.server.next((_request, response) => {
        left = once(response, 'close');
        gone.abort();
      });
      const { rollout_id, baseURL } = served.startAttempt();
      await assert.rejects(served.client(baseURL).chat.completions.create({ model: 'tiny', messages: hello }, { signal: gone.signal }));
      await left;
      assert.equal((await spanArrives(rollout_id)).attributes[attr.errorType], 'client_disconnected');
    });
  });

  it('an upstream that answers a streaming request in one piece still streams to the agent', async () => {
    served.server.next(json(completion('tiny', { content: 'whole', tool_calls: [{ id: 'a', type: 'function', function: { name: 'add', arguments: '{}' } }] }, { choice: { finish_reason: 'tool_calls' } })));
    const { baseURL } = served.startAttempt();
    const answer = await served.client(baseURL).chat.completions.stream({ model: 'tiny', messages: hello }).finalChatCompletion();
    assert.equal(answer.choices[0]?.message.content, 'whole');
    assert.equal(answer.choices[0]?.message.tool_calls?.length, 1);
  });
});
