import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import OpenAI from 'openai';
import { openPolicy } from '../../../trainer/policy/open-policy.ts';
import { attr, numbersOf } from '../../../trainer/protocol/span.ts';
import type { Span } from '../../../trainer/protocol/span.ts';
import { makeTinyPolicy } from '../../fixtures/tiny-policy.ts';
import { serveGateway } from './served-gateway.ts';
import type { ServedGateway } from './served-gateway.ts';

describe('gateway in front of the local policy', () => {
  let folder: string;
  let served: ServedGateway;
  let policy: Awaited<ReturnType<typeof openPolicy>>;
  const messages = [{ role: 'user' as const, content: 'Say 1' }];

  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'policy-'));
    await makeTinyPolicy(path.join(folder, 'tiny-policy'));
    served = await serveGateway();
    policy = await openPolicy(path.join(folder, 'tiny-policy'), { threads: 1 });
    served.gateway.backends.set('policy', policy.chat);
  });
  after(async () => {
    await served.close();
    await policy.close();
    rmSync(folder, { recursive: true });
  });

  const call = async (stream: boolean, seed: number): Promise<{ text: string; span: Span }> => {
    const { rollout_id, baseURL } = served.startAttempt({ backend: 'policy', seed, sampling: { temperature: 0.8, max_tokens: 12 } });
    const completions = served.client(baseURL).chat.completions;
    let text = '';
    if (stream) for await (const part of await completions.create({ model: 'tiny-policy', messages, stream })) text += part.choices[0]?.delta.content ?? '';
    else text = (await completions.create({ model: 'tiny-policy', messages })).choices[0]?.message.content ?? '';
    const spans = served.store.listSpans(rollout_id);
    assert.equal(spans.length, 1);
    return { text, span: spans[0]! };
  };

  it('records what training needs; streamed or not, the same seed gives the same answer', async () => {
    const [whole, streamed, other] = [await call(false, 3), await call(true, 3), await call(false, 4)];
    assert.equal(streamed.text, whole.text);
    for (const { text, span } of [whole, streamed, other]) {
      const ids = numbersOf(span, attr.responseTokenIds);
      const logprobs = numbersOf(span, attr.responseLogprobs);
      assert.ok(ids && logprobs && ids.length > 0 && ids.length <= 12);
      assert.equal(logprobs.length, ids.length);
      assert.ok(logprobs.every((logprob) => logprob <= 0));
      assert.ok(numbersOf(span, attr.promptTokenIds)?.length === span.attributes[attr.inputTokens]);
      assert.equal(span.attributes[attr.requestTemperature], 0.8);
      assert.equal(span.attributes[attr.policyVersion], 0);
      assert.equal(span.attributes[attr.provider], 'agent_trainer');
      assert.deepEqual(JSON.parse(span.attributes[attr.outputMessages] as string), [{ role: 'assistant', content: text }]);
    }
    assert.deepEqual(streamed.span.attributes[attr.responseTokenIds], whole.span.attributes[attr.responseTokenIds]);
    assert.notDeepEqual(other.span.attributes[attr.responseTokenIds], whole.span.attributes[attr.responseTokenIds]);
  });

  it('a conversation over the context is told in the OpenAI way', async () => {
    const { baseURL } = served.startAttempt({ backend: 'policy' });
    await assert.rejects(served.client(baseURL).chat.completions.create({ model: 'tiny-policy', messages: [{ role: 'user', content: 'long '.repeat(100) }] }),
      (error) => error instanceof OpenAI.BadRequestError && error.code === 'context_length_exceeded');
  });
});
