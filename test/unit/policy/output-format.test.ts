import assert from 'node:assert/strict';
import { readVocabulary } from '../../../trainer/grammar/vocabulary.ts';
import { outputFormat } from '../../../trainer/policy/output-format.ts';
import { OutputGrammars } from '../../../trainer/policy/output-grammar.ts';
import { parseToolCalls } from '../../../trainer/policy/tool-calls.ts';
import { ChatRequest } from '../../../trainer/protocol/chat.ts';

const request = (fields: Record<string, unknown>) => ChatRequest.parse({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...fields });
const tool = (name: string, fields: Record<string, unknown> = {}) => ({ type: 'function', function: { name, ...fields } });
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };

const eos = 256;
const vocabulary = readVocabulary(257, (id) => (id < eos ? Uint8Array.of(id) : undefined), [eos]);
const grammars = new OutputGrammars(() => vocabulary);

/** Whether an answer to the request may be exactly this text. */
function mayAnswer(fields: Record<string, unknown>, text: string): boolean {
  const format = outputFormat(request(fields));
  assert.ok(format);
  const constraint = grammars.constraint(format);
  for (const byte of Buffer.from(text)) {
    if (constraint.complete || ((constraint.allowed()[byte >> 5]! >>> (byte & 31)) & 1) === 0) return false;
    constraint.accept(byte);
  }
  return constraint.complete || ((constraint.allowed()[eos >> 5]! >>> (eos & 31)) & 1) === 1;
}

const call = (name: string, args: string) => `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`;

describe('the form a request asks for', () => {
  it('is none without a format, strict tools or a forced call', () => {
    for (const fields of [{}, { response_format: { type: 'text' } }, { response_format: null }, { tools: [tool('f')] }, { tools: [tool('f', { strict: true })], tool_choice: 'none' }, { tools: [tool('f', { strict: false })], tool_choice: 'auto' }]) {
      assert.equal(outputFormat(request(fields)), null, JSON.stringify(fields));
    }
  });

  it('a document: of the schema, or any object', () => {
    const fields = { response_format: { type: 'json_schema', json_schema: { name: 'place', strict: true, schema } } };
    assert.deepEqual(['{"city":"Rome"}', '{}', 'Rome', '{"city":"Rome"} '].map((text) => mayAnswer(fields, text)), [true, false, false, false]);
    const any = { response_format: { type: 'json_object' } };
    assert.deepEqual(['{"city":[1,{"a":null}]}', '{}', '[]', '"x"'].map((text) => mayAnswer(any, text)), [true, true, false, false]);
  });

  it('a forced call: of one function, or of any, once or several times', () => {
    const tools = [tool('weather', { strict: true, parameters: schema }), tool('now', { strict: true }), tool('loose', { parameters: schema })];
    const weather = call('weather', '{"city": "Rome"}');
    const named = { tools, tool_choice: { type: 'function', function: { name: 'weather' } } };
    assert.deepEqual([weather, call('weather', '{}'), call('now', '{}'), 'text', `${weather}\n${weather}`].map((text) => mayAnswer(named, text)), [true, false, false, false, false]);
    const required = { tools, tool_choice: 'required' };
    assert.deepEqual([weather, call('now', '{}'), call('loose', '{"x":1}'), call('other', '{}'), `${weather}\n${call('now', '{}')}`, 'text', ''].map((text) => mayAnswer(required, text)), [true, true, true, false, true, false, false]);
    assert.equal(mayAnswer({ ...required, parallel_tool_calls: false }, `${weather}\n${weather}`), false);
    assert.deepEqual(parseToolCalls(`${weather}\n${call('now', '{}')}`).calls.map(({ function: f }) => f), [{ name: 'weather', arguments: '{"city":"Rome"}' }, { name: 'now', arguments: '{}' }]);
  });

  it('with a strict tool: any text, and calls that fit', () => {
    const fields = { tools: [tool('weather', { strict: true, parameters: schema })] };
    const good = call('weather', '{"city": "Rome"}');
    const answers = ['', 'Hello, 漢 <tool> you', `Let me see.\n${good}`, good, `<tool_call>\n{"name": "rain"`, call('weather', '{"town": "Rome"}'), `${good} and more`];
    assert.deepEqual(answers.map((text) => mayAnswer(fields, text)), [true, true, true, true, false, false, false]);
  });

  it('a document or a call where both are offered', () => {
    const fields = { response_format: { type: 'json_object' }, tools: [tool('f')] };
    assert.deepEqual(['{"a":1}', call('f', '{"x":1}'), 'text'].map((text) => mayAnswer(fields, text)), [true, true, false]);
    assert.deepEqual(['{"a":1}', call('f', '{"x":1}')].map((text) => mayAnswer({ ...fields, tool_choice: 'required' }, text)), [false, true]);
  });

  it('is refused in the OpenAI way', () => {
    const refused: [Record<string, unknown>, string, RegExp][] = [
      [{ response_format: { type: 'xml' } }, 'response_format.type', /must be of type/],
      [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema', /./],
      [{ response_format: { type: 'json_schema', json_schema: { name: 'a b', schema } } }, 'response_format.json_schema.name', /letters/],
      [{ tool_choice: 'required' }, 'tool_choice', /there are no tools/],
      [{ tools: [], tool_choice: 'required' }, 'tool_choice', /there are no tools/],
      [{ tools: [tool('f')], tool_choice: { type: 'function', function: { name: 'g' } } }, 'tool_choice', /no tool "g"/],
      [{ tools: [tool('f')], tool_choice: 'sometimes' }, 'tool_choice', /must be/],
      [{ tools: [{ type: 'custom', custom: {} }], tool_choice: 'required' }, 'tools[0].type', /./],
    ];
    for (const [fields, param, message] of refused) assert.throws(() => outputFormat(request(fields)), { name: 'ChatBackendError', status: 400, param, message }, JSON.stringify(fields));
    const broken = (fields: Record<string, unknown>) => () => grammars.constraint(outputFormat(request(fields))!);
    assert.throws(broken({ response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'array', items: { not: {} } } } } }), (error: Error & { details?: unknown }) => {
      assert.match(error.message, /^Invalid schema for response_format 'n': at #\/items: the keyword "not" is not supported\./);
      assert.deepEqual(error.details, { path: '#/items', param: 'response_format', code: 'invalid_json_schema' });
      return true;
    });
    assert.throws(broken({ tools: [tool('f'), tool('g', { strict: true, parameters: { type: 'string' } })] }), (error: Error & { details?: { param?: string } }) => error.details?.param === 'tools[1].function.parameters' && /'g'.*must be "object"/.test(error.message));
  });
});
