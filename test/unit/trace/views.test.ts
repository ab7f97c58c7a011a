import assert from 'node:assert/strict';
import { chatMessages } from '../../../src/views/chat-messages.ts';
import { comparisonOf } from '../../../src/views/comparison.ts';
import { curlOf } from '../../../src/views/curl.ts';
import { rolloutDetail, rolloutHead, taskTitle } from '../../../src/views/rollout-view.ts';
import { sourceOf, spanDetail } from '../../../src/views/span-detail.ts';
import { spanRow } from '../../../src/views/span-row.ts';
import { TraceBook } from '../../../src/views/trace-book.ts';
import { attr } from '../../../trainer/protocol/span.ts';
import type { Span } from '../../../trainer/protocol/span.ts';
import { aRollout, aRun, spansOf } from '../../fixtures/recorded-runs.ts';

const run = aRun('dev');
const rollout = aRollout(run, 0, { outcome: 'scored', reward: 1 });
const spans = spansOf(rollout, 1);
const call = spans[1] ?? assert.fail();
const none = new Map<string, Span>();

describe('span and rollout views', () => {
  it('gives every span its kind, title and note', () => {
    assert.deepEqual(spans.map(spanRow).map(({ kind, title, note }) => [kind, title, note]), [
      ['operation', 'write_query', ''], ['llm', 'sql-policy', '112 → 19 tokens'], ['operation', 'execute_query', ''],
      ['operation', 'check_query', ''], ['llm', 'sql-policy', '112 → 19 tokens'], ['reward', 'final', '1.000'],
    ]);
  });

  it('shows why a reward is what it is: briefly in its line, whole in its detail', () => {
    const reward = { ...spans[5]!, attributes: { ...spans[5]!.attributes, [attr.rewardReason]: `The query is right,\nbut ${'slow '.repeat(100)}` } };
    const { title, note } = spanRow(reward);
    assert.match(title, /^final: The query is right, but slow .*…$/);
    assert.equal(note, '1.000');
    const reasonsIn = (span: Span) => spanDetail(span, none, true).sections.flatMap((section) => (section.kind === 'text' && section.title === 'Reason' ? [section.text] : []));
    assert.deepEqual(reasonsIn(reward), [reward.attributes[attr.rewardReason]]);
    assert.deepEqual(reasonsIn(spans[5]!), []);
  });

  it('shows a call as the conversation it was, then its credit and its tokens', () => {
    const { sections, replay, curl } = spanDetail(call, none, true);
    assert.ok(sections[0]?.kind === 'chat');
    assert.deepEqual(sections[0].messages.map(({ role, index }) => [role, index]), [['system', 0], ['user', 1], ['assistant', null]]);
    assert.deepEqual(sections.slice(1, 3).map((section) => section.kind), ['credit', 'tokens']);
    assert.deepEqual([replay, curl], [true, true]);
  });

  it('asks nothing of the trainer for a span of a file', () => {
    const { sections, replay } = spanDetail(call, none, false);
    assert.deepEqual([replay, sections.some(({ kind }) => kind === 'credit' || kind === 'tokens')], [false, false]);
  });

  it('keeps token ids out of the page beyond a glimpse', () => {
    const fields = spanDetail(call, none, true).sections.at(-1);
    assert.ok(fields?.kind === 'fields');
    assert.equal(fields.fields.find(([name]) => name === attr.promptTokenIds)?.[1], '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 … 112 values');
  });

  it('puts an error first, in the span and in the rollout', () => {
    const failed: Span = { ...call, status: { status_code: 'ERROR', description: 'no answer' } };
    assert.deepEqual([spanRow(failed).failed, spanDetail(failed, none, true).sections[0]], [true, { kind: 'text', title: 'Error', tone: 'error', text: 'no answer' }]);
    const timedOut = aRollout(run, 2, { outcome: 'timeout', error: 'too slow' });
    assert.deepEqual([rolloutHead(timedOut, true).state, rolloutHead(timedOut, true).note], ['failed', 'timed out']);
    assert.deepEqual(rolloutDetail(timedOut, null).sections[0], { kind: 'text', title: 'Error', tone: 'error', text: 'too slow' });
  });

  it('tells unscored from a reward of zero', () => {
    const heads = [aRollout(run, 0, { outcome: 'unscored' }), aRollout(run, 0, { outcome: 'scored', reward: 0 })].map((each) => rolloutHead(each, false));
    assert.deepEqual(heads.map(({ state, note, reward }) => [state, note, reward]), [['unscored', 'no reward', null], ['scored', '0.000', 0]]);
  });

  it('names a task by its most telling text', () => {
    assert.equal(taskTitle({ id: 'a', question: 'How\n many?' }), 'How many?');
    assert.equal(taskTitle({ a: 1 }), '{"a":1}');
    assert.equal(taskTitle(null), 'null');
  });

  it('finds the source line of a span, or of the nearest span around it', () => {
    const parent: Span = { ...spans[0]!, attributes: { [attr.codeFile]: '/w/agent.ts', [attr.codeLine]: 41 } };
    const byId = new Map([[parent.span_id, parent], [call.span_id, call]]);
    assert.deepEqual(sourceOf(call, byId), { file: '/w/agent.ts', line: 41 });
    assert.equal(spanDetail(call, byId, true).source, 'agent.ts:41');
    assert.equal(sourceOf(call, none), null);
  });
});

describe('messages of a call', () => {
  it('reads OpenAI messages, tool calls apart', () => {
    assert.deepEqual(chatMessages('[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"}]}]'), [{ role: 'user', name: null, text: 'a\n[image_url]', calls: [], index: null }]);
    const message = { role: 'assistant', content: null, tool_calls: [{ id: '1', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }] };
    assert.deepEqual(chatMessages(JSON.stringify(message)), [{ role: 'assistant', name: null, text: '', calls: [{ name: 'f', arguments: '{"x":1}' }], index: null }]);
  });

  it('reads the parts of OpenTelemetry messages, as VS Code writes them', () => {
    const message = { role: 'assistant', parts: [{ type: 'reasoning', content: 'hm' }, { type: 'text', content: 'yes' }, { type: 'tool_call', id: '1', name: 'f', arguments: { x: 1 } }] };
    assert.deepEqual(chatMessages(JSON.stringify([message])), [{ role: 'assistant', name: null, text: '(reasoning) hm\nyes', calls: [{ name: 'f', arguments: '{"x":1}' }], index: null }]);
    assert.equal(chatMessages('[{"role":"tool","parts":[{"type":"tool_call_response","id":"1","response":[41]}]}]')[0]?.text, '[41]');
  });

  it('shows what is no list of messages as it is', () => {
    assert.deepEqual(chatMessages('not { json', 'assistant'), [{ role: 'assistant', name: null, text: 'not { json', calls: [], index: null }]);
    assert.deepEqual(chatMessages(null), []);
  });
});

describe('the trace book', () => {
  it('gathers the spans of a running rollout and says when it ended', () => {
    const book = new TraceBook(() => true);
    const running = aRollout(run, 0, null);
    assert.deepEqual(book.apply({ type: 'rollout', run_id: run.run_id, rollout: running }), { heads: [running.rollout_id], ended: [], reset: [], spans: [] });
    for (const span of [...spans].reverse()) assert.deepEqual(book.apply({ type: 'spans', run_id: run.run_id, spans: [span] }).spans, [span]);
    assert.deepEqual(book.rows(running.rollout_id)?.map((span) => span.span_id), spans.map((span) => span.span_id));
    assert.deepEqual(book.apply({ type: 'rollout', run_id: run.run_id, rollout }).ended, [running.rollout_id]);
  });

  it('does not claim to know the spans of a rollout that ended before it looked', () => {
    const book = new TraceBook(() => true);
    book.list([rollout]);
    assert.deepEqual([book.rows(rollout.rollout_id), book.heads()[0]?.loaded], [null, false]);
    book.load(rollout, spans, { stdout: 'hello', stderr: '' });
    assert.deepEqual([book.rows(rollout.rollout_id)?.length, book.heads()[0]?.loaded], [6, true]);
  });

  it('shows the latest attempt alone, and says that the earlier lines go', () => {
    const book = new TraceBook(() => true);
    const first = aRollout(run, 0, null);
    book.list([first]);
    book.apply({ type: 'spans', run_id: run.run_id, spans });
    const retried = { ...first, attempt: { ...(first.attempt ?? assert.fail()), attempt_id: 'at-second', sequence_id: 2 } };
    assert.deepEqual(book.apply({ type: 'rollout', run_id: run.run_id, rollout: retried }).reset, [first.rollout_id]);
    assert.deepEqual(book.apply({ type: 'spans', run_id: run.run_id, spans }).spans, [], 'late spans of the first attempt');
    assert.deepEqual(book.rows(first.rollout_id), []);
  });

  it('leaves out what does not belong on the page', () => {
    const book = new TraceBook((each) => each.step === 3);
    book.list([aRollout(run, 0, null, { step: 3 }), aRollout(run, 1, null, { step: 4 })]);
    assert.equal(book.ids.length, 1);
  });

  it('searches in what was said, not only in titles', () => {
    const book = new TraceBook(() => true);
    book.load(rollout, spans, { stdout: '', stderr: '' });
    assert.deepEqual(book.search('YEAR > 1990'), [0, 1, 2, 4].map((at) => `${rollout.rollout_id}/${spans[at]?.span_id}`));
    assert.deepEqual(book.search('nowhere'), []);
  });
});

describe('a call as cURL', () => {
  it('quotes for the shell and names no key', () => {
    const span: Span = { ...call, attributes: { [attr.requestModel]: 'm', [attr.inputMessages]: '[{"role":"user","content":"it\'s $HOME"}]', [attr.requestedParameters]: '{"temperature":0.5}' } };
    assert.equal(curlOf(span, 'http://h:1/v1/'), [
      "curl -sS 'http://h:1/v1/chat/completions' \\", "  -H 'content-type: application/json' \\", '  -H "authorization: Bearer $OPENAI_API_KEY" \\',
      "  -d '{", '  "model": "m",', '  "messages": [', '    {', '      "role": "user",', `      "content": "it'\\''s $HOME"`, '    }', '  ],', '  "temperature": 0.5', "}'",
    ].join('\n'));
    assert.match(curlOf(span, null), /^curl -sS "\$OPENAI_BASE_URL\/chat\/completions"/);
  });
});

describe('the comparison of two attempts', () => {
  it('aligns steps by kind and name and says which differ', () => {
    const other = spansOf(rollout, 0).filter((span) => span.attributes[attr.operationLabel] !== 'execute_query');
    const extra: Span = { ...other[0]!, span_id: 'extra', parent_id: null, sequence_id: 3, start_time: other[0]!.start_time + 0.64, attributes: { [attr.operationLabel]: 'repair', [attr.operationOutput]: '"fixed"' } };
    const { rows } = comparisonOf({ rollout, spans }, { rollout, spans: [...other, extra] });
    assert.deepEqual(rows.map(({ left, right, same }) => [left?.title ?? null, right?.title ?? null, same]), [
      ['write_query', 'write_query', true], ['sql-policy', 'sql-policy', true], ['execute_query', null, false], [null, 'repair', false],
      ['check_query', 'check_query', true], ['sql-policy', 'sql-policy', true], ['final', 'final', false],
    ]);
    assert.deepEqual(rows.map(({ left, right }) => (left ?? right)?.level), [0, 1, 0, 0, 0, 1, 0]);
  });
});
