import assert from 'node:assert/strict';
import fc from 'fast-check';
import { chunksOf } from '../../../trainer/gateway/agent-view.ts';
import { ChunkAssembler } from '../../../trainer/gateway/chunk-assembler.ts';
import type { ChatCompletion } from '../../../trainer/protocol/chat.ts';
import { chunk } from '../../fixtures/openai-server.ts';
import { ChatChunk } from '../../../trainer/protocol/chat.ts';

function assemble(...chunks: unknown[]): ChunkAssembler {
  const assembler = new ChunkAssembler();
  for (const each of chunks) assembler.add(ChatChunk.parse(each));
  return assembler;
}

describe('chunk assembler', () => {
  it('undoes chunksOf', () => {
    const text = fc.string({ minLength: 1 });
    const call = fc.record({ id: text, type: fc.constant('function' as const), function: fc.record({ name: text, arguments: fc.string() }, { noNullPrototype: true }) }, { noNullPrototype: true });
    const choice = fc.record({ content: fc.option(text), tool_calls: fc.uniqueArray(call, { minLength: 1, maxLength: 3, selector: ({ id }) => id }), finish_reason: fc.constantFrom('stop', 'length', 'tool_calls'), token_ids: fc.array(fc.nat()) });
    fc.assert(fc.property(fc.array(choice, { minLength: 1, maxLength: 3 }), (choices) => {
      const completion: ChatCompletion = {
        id: 'c', object: 'chat.completion', created: 1, model: 'm', usage: null,
        choices: choices.map(({ content, tool_calls, finish_reason, token_ids }, index) => ({ index, message: { role: 'assistant', content, tool_calls }, finish_reason, logprobs: null, token_ids })),
      };
      const assembled = assemble(...chunksOf(completion));
      assert.ok(assembled.finished);
      assert.deepEqual(assembled.completion(), completion);
    }));
  });

  it('starts a new call with each new id where servers leave the index out', () => {
    const assembled = assemble(
      chunk('m', { tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{' } }] }),
      chunk('m', { tool_calls: [{ function: { arguments: '}' } }] }),
      chunk('m', { tool_calls: [{ id: 'b', function: { name: 'g', arguments: '{}' } }] }),
    ).completion();
    assert.deepEqual(assembled?.choices[0]?.message.tool_calls?.map(({ id, function: { name, arguments: text } }) => [id, name, text]), [['a', 'f', '{}'], ['b', 'g', '{}']]);
  });

  it('adds up reasoning like content, and keeps usage of a closing chunk', () => {
    const assembled = assemble(
      chunk('m', { reasoning_content: 'hm' }), chunk('m', { reasoning_content: 'm', content: '4' }), chunk('m', {}, { choice: { finish_reason: 'stop' } }),
      { ...chunk('m', {}), choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } },
    ).completion();
    assert.deepEqual(assembled?.choices[0]?.message, { role: 'assistant', content: '4', reasoning_content: 'hmm' });
    assert.equal(assembled?.usage?.total_tokens, 3);
  });

  it('is not finished while a choice is open, and is null without chunks', () => {
    assert.equal(assemble(chunk('m', { content: 'a' })).finished, false);
    assert.equal(assemble().finished, false);
    assert.equal(assemble().completion(), null);
  });
});
