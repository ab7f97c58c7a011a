import assert from 'node:assert/strict';
import { callExamples } from '../../../trainer/adapter/examples.ts';
import { attr } from '../../../trainer/protocol/span.ts';
import { callOf, operationOf } from './support.ts';

const user = { role: 'user', content: 'Hi' };
const conversation = (answer: object, more: Record<string, string | string[]> = {}) => ({
  [attr.inputMessages]: JSON.stringify([user]), [attr.outputMessages]: JSON.stringify([answer]), ...more,
});

describe('adapter: examples', () => {
  it('are the conversations of complete calls, of any model', () => {
    const tool_calls = [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }];
    const tools = [{ type: 'function', function: { name: 'look' } }];
    const spans = [
      callOf({ ...conversation({ role: 'assistant', content: 'Hello', tool_calls: null }), [attr.promptTokenIds]: undefined, [attr.responseTokenIds]: undefined }),
      callOf(conversation({ role: 'assistant', content: null, tool_calls }, { [attr.toolDefinitions]: JSON.stringify(tools) })),
    ];
    assert.deepEqual(callExamples(spans), [
      { messages: [user, { role: 'assistant', content: 'Hello' }], tools: null, from: 1 },
      { messages: [user, { role: 'assistant', content: null, tool_calls }], tools, from: 1 },
    ]);
  });

  it('leave out calls that failed or were cut off, and what cannot be read', () => {
    const answer = { role: 'assistant', content: 'Hello' };
    assert.deepEqual(callExamples([
      callOf(conversation(answer), { status: { status_code: 'ERROR' } }),
      callOf({ ...conversation(answer), [attr.incomplete]: true }),
      callOf(conversation(answer, { [attr.finishReasons]: ['length'] })),
      callOf({ ...conversation(answer), [attr.inputMessages]: '{' }),
      callOf(),
    ]), []);
  });

  it('follow agent_match', () => {
    const operation = operationOf('write');
    const spans = [operation, callOf(conversation({ role: 'assistant', content: 'a' }), { parent_id: operation.span_id }), callOf(conversation({ role: 'assistant', content: 'b' }))];
    assert.deepEqual(callExamples(spans, { agent_match: 'write' }).map(({ messages }) => messages[1]!.content), ['a']);
  });
});
