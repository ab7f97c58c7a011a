import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ChatChunk, ChatRequest } from '../../../trainer/protocol/chat.ts';
import { TokenReader } from '../../../trainer/models/token-table.ts';
import { openTokenizer, type ModelTokenizer } from '../../../trainer/models/tokenizer.ts';
import { Answer } from '../../../trainer/policy/answer.ts';
import { parseToolCalls } from '../../../trainer/policy/tool-calls.ts';
import { makeTinyPolicy } from '../../fixtures/tiny-policy.ts';

describe('tool calls', () => {
  const call = (json: string) => `<tool_call>\n${json}\n</tool_call>`;

  it('are read with their arguments', () => {
    const { content, calls } = parseToolCalls(`Let me see.\n${call('{"name": "find", "arguments": {"q": "a"}}')}\n${call('{"name": "now"}')}\n`);
    assert.equal(content, 'Let me see.');
    assert.deepEqual(calls.map((c) => c.function), [{ name: 'find', arguments: '{"q":"a"}' }, { name: 'now', arguments: '{}' }]);
    assert.notEqual(calls[0]!.id, calls[1]!.id);
  });

  it('are plain text when malformed', () => {
    for (const text of [call('{"name": '), call('{"arguments": {}}'), '<tool_call>{"name": "f"}', `${call('{"name": "f"}')} and more`, call('[]')]) {
      assert.deepEqual(parseToolCalls(text), { content: text, calls: [] });
    }
  });
});

describe('answer', () => {
  let folder: string;
  let tokenizer: ModelTokenizer;
  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'answer-'));
    await makeTinyPolicy(folder);
    tokenizer = await openTokenizer(folder);
  });
  after(() => rmSync(folder, { recursive: true }));

  function run(text: string, options: { reason?: 'stop' | 'length'; stop?: string[]; tools?: boolean; request?: Partial<ChatRequest>; end?: boolean } = {}) {
    const { reason = 'stop', stop = [], tools = false, request = {}, end = true } = options;
    const answer = new Answer(new TokenReader(tokenizer.table()), { model: 'm', messages: [], ...request }, { model: 'm', prompt: [1, 2], stop, parseTools: tools });
    const ids = [...tokenizer.encode(text), ...(end ? [tokenizer.eosId!] : [])];
    const chunks = ids.flatMap((token) => answer.add({ token, logprob: -0.5, alternatives: [{ token, logprob: -0.5 }] }));
    chunks.push(...answer.finish(reason, 1));
    const completion = answer.completion();
    const choice = completion.choices[0]!;
    assert.deepEqual(choice.token_ids, ids);
    assert.deepEqual(answer.sampled(4), { prompt_token_ids: [1, 2], response_token_ids: ids, response_logprobs: ids.map(() => -0.5), policy_version: 4 });
    const streamed = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
    return { choice, completion, chunks, streamed, last: chunks.at(-1) as ChatChunk };
  }

  it('streams the text it ends up with', () => {
    for (const text of ['Say é🙂 12', '', '<tool_call>{"name": "f"}</tool_call>']) {
      const { choice, streamed, last, chunks } = run(text);
      assert.equal(choice.message.content, text);
      assert.equal(streamed, text);
      assert.equal(chunks[0]!.choices[0]!.delta.role, 'assistant');
      assert.equal(last.choices[0]!.finish_reason, 'stop');
    }
  });

  it('ends its text before a stop string, its tokens after it', () => {
    const { choice, streamed } = run('one two three', { stop: ['two', 'x'], end: false });
    assert.equal(choice.message.content, 'one ');
    assert.equal(streamed, 'one ');
  });

  it('gives back what looked like the beginning of a stop string', () => {
    const { choice, streamed } = run('one tw', { stop: ['two'], reason: 'length', end: false });
    assert.equal(choice.message.content, 'one tw');
    assert.equal(streamed, 'one tw');
    assert.equal(choice.finish_reason, 'length');
  });

  it('shows a character cut off in the middle as U+FFFD', () => {
    const answer = new Answer(new TokenReader(tokenizer.table()), { model: 'm', messages: [] }, { model: 'm', prompt: [], stop: [], parseTools: false });
    answer.add({ token: tokenizer.encode('é')[0]!, logprob: 0, alternatives: [] });
    answer.finish('length', 1);
    assert.equal(answer.completion().choices[0]!.message.content, '\ufffd');
  });

  it('turns tool calls into tool calls, malformed ones into text', () => {
    const good = run('Hm <tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>', { tools: true });
    assert.equal(good.choice.message.content, 'Hm');
    assert.equal(good.choice.finish_reason, 'tool_calls');
    assert.deepEqual(good.choice.message.tool_calls!.map((c) => c.function), [{ name: 'f', arguments: '{"x":1}' }]);
    assert.equal(good.streamed.trim(), 'Hm');
    assert.deepEqual(good.chunks.flatMap((chunk) => chunk.choices[0]?.delta['tool_calls'] ?? []), good.choice.message.tool_calls!.map((c, index) => ({ index, ...c })));
    const only = run('<tool_call>{"name": "f"}</tool_call>', { tools: true });
    assert.equal(only.choice.message.content, null);
    const bad = run('Hm <tool_call>{"name"', { tools: true });
    assert.equal(bad.choice.message.content, 'Hm <tool_call>{"name"');
    assert.equal(bad.streamed, 'Hm <tool_call>{"name"');
    assert.equal(bad.choice.finish_reason, 'stop');
  });

  it('adds usage and log-probabilities when asked', () => {
    const { last, choice, completion } = run('ee', { request: { stream_options: { include_usage: true }, logprobs: true, top_logprobs: 1 } });
    const usage = { prompt_tokens: 2, completion_tokens: choice.token_ids!.length, total_tokens: 2 + choice.token_ids!.length, prompt_tokens_details: { cached_tokens: 1 } };
    assert.deepEqual(completion.usage, usage);
    assert.deepEqual([last.choices, last.usage], [[], usage]);
    const { content } = choice.logprobs as { content: { token: string; logprob: number; bytes: number[]; top_logprobs: unknown[] }[] };
    assert.equal(content.at(-1)!.token, '<|im_end|>');
    assert.deepEqual(content.map(({ token }) => token).join(''), 'ee<|im_end|>');
    assert.equal(content[0]!.top_logprobs.length, 1);
    assert.equal(run('ee').choice.logprobs, null);
  });
});
