import assert from 'node:assert/strict';
import { once } from 'node:events';
import { ChatBackendError } from '../../../trainer/protocol/chat.ts';
import type { CallContext, ChatEvent, ChatRequest } from '../../../trainer/protocol/chat.ts';
import { OpenAIBackend } from '../../../trainer/gateway/openai-backend.ts';
import type { OpenAIBackendOptions } from '../../../trainer/gateway/openai-backend.ts';
import { json, refuse, say, startOpenAIServer, stream } from '../../fixtures/openai-server.ts';
import type { Answer, OpenAIServer } from '../../fixtures/openai-server.ts';

const request: ChatRequest = { model: 'tiny', messages: [{ role: 'user', content: 'hi' }] };

function context(signal = new AbortController().signal): CallContext {
  return { rollout_id: null, attempt_id: null, mode: null, seed: null, signal };
}

async function collect(events: AsyncIterable<ChatEvent>): Promise<ChatEvent[]> {
  const all: ChatEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

describe('OpenAI-compatible server as a backend', () => {
  let server: OpenAIServer;
  beforeEach(async () => { server = await startOpenAIServer(); });
  afterEach(() => server.close());

  const backend = (options: Partial<OpenAIBackendOptions> = {}): OpenAIBackend =>
    new OpenAIBackend({ baseUrl: server.url, model: 'tiny', ...options, retry: { tries: 3, baseDelayMs: 1, ...options.retry } });
  const fails = async (subject: OpenAIBackend, asked = request, signal?: AbortSignal): Promise<ChatBackendError> => {
    const error = await collect(subject.chat(asked, context(signal))).then(() => assert.fail('it succeeded'), (reason: unknown) => reason);
    assert.ok(error instanceof ChatBackendError, String(error));
    return error;
  };
  const cut: Answer = (_request, response) => void response.destroy();

  for (const [name, trouble] of Object.entries<Answer>({
    '429': refuse(429, 'slow down'), '500': refuse(500, 'oops'), '503 in HTML': (_request, response) => void response.writeHead(503).end('<html>'), 'a broken connection': cut,
    'a stream that breaks before its first event': stream(() => [': nothing\n\n'], { broken: true }),
  })) {
    it(`tries again after ${name}`, async () => {
      server.next(trouble, trouble, say('at last'));
      const events = await collect(backend().chat({ ...request, stream: true }, context()));
      const last = events.at(-1);
      assert.equal(last?.type === 'done' && last.completion.choices[0]?.message.content, 'at last');
      assert.equal(server.requests.length, 3);
    });
  }

  it('gives up after the given tries with the last status', async () => {
    server.next(refuse(500, 'a'), refuse(500, 'b'), refuse(503, 'c'), say('too late'));
    const error = await fails(backend());
    assert.equal(error.status, 503);
    assert.match(error.message, /answered with status 503: c/);
    assert.equal(server.requests.length, 3);
  });

  it('does not repeat what cannot succeed', async () => {
    for (const refusal of [refuse(400, 'bad'), refuse(401, 'Incorrect API key: sk-secret'), refuse(429, 'no money', { code: 'insufficient_quota' })]) {
      server.next(refusal);
      const before = server.requests.length;
      const error = await fails(backend({ apiKey: 'sk-secret' }));
      assert.equal(server.requests.length, before + 1);
      assert.ok(!error.message.includes('sk-secret'));
    }
  });

  it('does not wait longer than allowed for Retry-After, and hands it on', async () => {
    server.next(refuse(429, 'later', { headers: { 'retry-after': '3600' } }));
    const error = await fails(backend());
    assert.equal(error.retryAfterSeconds, 3600);
    assert.equal(server.requests.length, 1);
  });

  it('a silent server is a timeout', async () => {
    const silent: Answer = () => undefined;
    server.next(silent, silent);
    const error = await fails(backend({ idleTimeoutMs: 50, retry: { tries: 2 } }));
    assert.equal(error.status, 504);
    assert.equal(error.code, 'upstream_timeout');
    assert.equal(server.requests.length, 2);
  });

  it('an unreachable server is named', async () => {
    const gone = await startOpenAIServer();
    await gone.close();
    const error = await fails(backend({ baseUrl: gone.url, retry: { tries: 1 } }));
    assert.equal(error.status, 502);
    assert.ok(error.message.includes(`${gone.url} cannot be reached: connect ECONNREFUSED`), error.message);
  });

  it('stops waiting when the call is aborted', async () => {
    const controller = new AbortController();
    server.next((received, response) => {
      void refuse(429, 'later', { headers: { 'retry-after': '30' } })(received, response);
      response.once('close', () => controller.abort());
    });
    await assert.rejects(collect(backend().chat(request, context(controller.signal))), { name: 'AbortError' });
    assert.equal(server.requests.length, 1);
  });

  it('closes the connection when the reader stops early', async () => {
    let left: Promise<unknown> | undefined;
    server.next((_request, response) => {
      left = once(response, 'close');
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'tiny', choices: [{ index: 0, delta: { content: 'a' } }] })}\n\n`);
    });
    for await (const event of backend().chat({ ...request, stream: true }, context())) {
      assert.equal(event.type, 'chunk');
      break;
    }
    await left;
  });

  it('drops a parameter of ours that the server refuses, once, and remembers', async () => {
    const subject = backend();
    server.next(refuse(400, 'Unrecognized request argument supplied: return_token_ids'), refuse(400, 'not supported', { param: 'logprobs' }), say('fine'));
    const [done] = await collect(subject.chat(request, context()));
    assert.ok(done?.type === 'done' && done.tokens === null);
    await collect(subject.chat(request, context()));
    const asked = server.requests.map(({ body }) => [body['return_token_ids'], body['logprobs']]);
    assert.deepEqual(asked, [[true, true], [undefined, true], [undefined, undefined], [undefined, undefined]]);
  });

  it('a parameter of the agent that the server refuses is the agent\'s error', async () => {
    server.next(refuse(400, 'logprobs are not supported', { param: 'logprobs' }));
    const error = await fails(backend(), { ...request, logprobs: true });
    assert.equal(error.param, 'logprobs');
    assert.equal(server.requests.length, 1);
  });

  it('answers that are no completions are refused', async () => {
    for (const [answer, pattern] of [[json({ hello: 1 }), /id/], [(_request, response) => void response.end('not json'), /not json/], [stream(() => [{ no: 'chunk' }]), /choices/]] as [Answer, RegExp][]) {
      server.next(answer);
      const error = await fails(backend({ retry: { tries: 1 } }));
      assert.equal(error.code, 'upstream_malformed');
      assert.match(error.message, pattern);
    }
  });

  it('an error inside a stream is an error', async () => {
    server.next(stream(() => [{ error: { message: 'CUDA out of memory', type: 'server_error', code: 500 } }]));
    const error = await fails(backend({ retry: { tries: 1 } }), { ...request, stream: true });
    assert.equal(error.status, 500);
    assert.match(error.message, /CUDA out of memory/);
  });

  it('lists the models of a server when none is named', async () => {
    assert.deepEqual(await backend({ model: null }).models(), ['tiny']);
  });
});
