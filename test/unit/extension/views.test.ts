import assert from 'node:assert/strict';
import { compact, clip, duration, oneLine } from '../../../src/views/format.ts';
import { chatMessages } from '../../../src/views/chat-messages.ts';
import { rolloutView, taskTitle } from '../../../src/views/rollout-view.ts';
import { spanView } from '../../../src/views/span-view.ts';
import { TraceBook } from '../../../src/views/trace-book.ts';
import { barState, barText } from '../../../src/status-bar.ts';
import type { RunEntry } from '../../../src/runs/run-book.ts';
import type { Run, StepMetrics } from '../../../trainer/protocol/run.ts';
import { attr } from '../../../trainer/protocol/span.ts';
import { aRollout, aRun, aStep, spansOf } from '../../fixtures/recorded-runs.ts';

const entry = (run: Run, steps: StepMetrics[] = [], rollouts: RunEntry['rollouts'] = null): RunEntry => ({ run, steps, notices: [], rollouts, waiting: null });

describe('span and rollout views', () => {
  const run = aRun('dev');
  const rollout = aRollout(run, 0, { outcome: 'scored', reward: 1 });
  const views = spansOf(rollout, 1).map(spanView);

  it('gives every span its kind, title and note', () => {
    assert.deepEqual(views.map(({ kind, title, note }) => [kind, title, note]), [
      ['operation', 'write_query', ''], ['llm', 'sql-policy', '112 → 19 tokens'], ['operation', 'execute_query', ''],
      ['operation', 'check_query', ''], ['llm', 'sql-policy', '112 → 19 tokens'], ['reward', 'final', '1.000'],
    ]);
  });

  it('shows a call as the conversation it was', () => {
    const chat = views[1]?.sections[0];
    assert.ok(chat?.kind === 'chat');
    assert.deepEqual(chat.messages.map((message) => message.role), ['system', 'user', 'assistant']);
  });

  it('keeps token ids out of the page beyond a glimpse', () => {
    const fields = views[1]?.sections.at(-1);
    assert.ok(fields?.kind === 'fields');
    assert.equal(fields.fields.find(([name]) => name === attr.promptTokenIds)?.[1], '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 … 112 values');
  });

  it('puts an error first, in the span and in the rollout', () => {
    const span = spansOf(rollout, 1)[1] ?? assert.fail('no span');
    const failed = spanView({ ...span, status: { status_code: 'ERROR', description: 'no answer' } });
    assert.deepEqual([failed.failed, failed.sections[0]], [true, { kind: 'text', title: 'Error', tone: 'error', text: 'no answer' }]);
    const timedOut = rolloutView(aRollout(run, 2, { outcome: 'timeout', error: 'too slow' }), [], null);
    assert.deepEqual([timedOut.state, timedOut.note, timedOut.sections[0]], ['failed', 'timed out', { kind: 'text', title: 'Error', tone: 'error', text: 'too slow' }]);
  });

  it('tells unscored from a reward of zero', () => {
    const unscored = rolloutView(aRollout(run, 0, { outcome: 'unscored' }), null, null);
    const zero = rolloutView(aRollout(run, 0, { outcome: 'scored', reward: 0 }), null, null);
    assert.deepEqual([unscored.state, unscored.note, zero.state, zero.note], ['unscored', 'no reward', 'scored', '0.000']);
  });

  it('names a task by its most telling text', () => {
    assert.equal(taskTitle({ id: 'a', question: 'How\n many?' }), 'How many?');
    assert.equal(taskTitle({ a: 1 }), '{"a":1}');
    assert.equal(taskTitle(null), 'null');
  });

  it('reads messages of any shape as plain text', () => {
    assert.deepEqual(chatMessages('[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"}]}]'), [{ role: 'user', text: 'a\n[image_url]' }]);
    const call = { role: 'assistant', content: null, tool_calls: [{ id: '1', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }] };
    assert.deepEqual(chatMessages(JSON.stringify(call)), [{ role: 'assistant', text: 'f({"x":1})' }]);
    assert.deepEqual(chatMessages('not { json', 'assistant'), [{ role: 'assistant', text: 'not { json' }]);
    assert.deepEqual(chatMessages(null), []);
  });
});

describe('the trace book', () => {
  const run = aRun('dev');

  it('gathers the spans of a running rollout and says when it ended', () => {
    const book = new TraceBook(() => true);
    const running = aRollout(run, 0, null);
    assert.deepEqual(book.apply({ type: 'rollout', run_id: run.run_id, rollout: running }), { changed: [running.rollout_id], ended: [] });
    const spans = spansOf(running, 1);
    for (const span of [...spans].reverse()) book.apply({ type: 'spans', run_id: run.run_id, spans: [span] });
    assert.deepEqual(book.views()[0]?.spans?.map((span) => span.span_id), spans.map((span) => span.span_id));
    assert.deepEqual(book.apply({ type: 'rollout', run_id: run.run_id, rollout: aRollout(run, 0, { outcome: 'scored', reward: 1 }) }).ended, [running.rollout_id]);
  });

  it('does not claim to know the spans of a rollout that ended before it looked', () => {
    const book = new TraceBook(() => true);
    const ended = aRollout(run, 0, { outcome: 'scored', reward: 1 });
    book.list([ended]);
    assert.equal(book.views()[0]?.spans, null);
    book.load(ended, spansOf(ended, 1), { stdout: 'hello', stderr: '' });
    assert.equal(book.views()[0]?.spans?.length, 6);
  });

  it('shows the latest attempt alone', () => {
    const book = new TraceBook(() => true);
    const first = aRollout(run, 0, null);
    book.list([first]);
    book.apply({ type: 'spans', run_id: run.run_id, spans: spansOf(first, 0) });
    const retried = { ...first, attempt: { ...(first.attempt ?? assert.fail()), attempt_id: 'at-second', sequence_id: 2 } };
    book.apply({ type: 'rollout', run_id: run.run_id, rollout: retried });
    assert.deepEqual(book.views()[0]?.spans, []);
  });

  it('leaves out what does not belong on the page', () => {
    const book = new TraceBook((rollout) => rollout.step === 3);
    book.list([aRollout(run, 0, null, { step: 3 }), aRollout(run, 1, null, { step: 4 })]);
    assert.equal(book.ids.length, 1);
  });
});

describe('the status bar', () => {
  const workspace = (kind: string, entries: RunEntry[] = []) => ({ supervisor: { state: { kind, message: 'why' } }, book: { active: () => entries } });

  it('is a function of trainers and runs', () => {
    const training = entry(aRun('train'), [aStep(0)]);
    const cases: [ReturnType<typeof workspace>[], string][] = [
      [[], ''],
      [[workspace('stopped')], ''],
      [[workspace('starting')], '$(sync~spin) Trainer starting'],
      [[workspace('ready')], '$(rocket) Agent Trainer'],
      [[workspace('ready'), workspace('failed')], '$(error) Agent Trainer'],
      [[workspace('ready', [training])], '$(sync~spin) Training 1/12 · reward 0.43'],
      [[workspace('ready', [training]), workspace('ready', [entry(aRun('dev'))])], '$(sync~spin) Training 1/12 · reward 0.43 +1'],
      [[workspace('ready', [entry(aRun('train', { phase: 'self-check' }))])], '$(sync~spin) Training: preparing'],
      [[workspace('ready', [entry(aRun('train', { pause: 'paused' }), [aStep(0)])])], '$(debug-pause) Paused: Training 1/12 · reward 0.43'],
      [[workspace('ready', [{ ...training, waiting: { on: 'the model', since: 1000 } }])], '$(watch) Waiting on the model for 4 min'],
    ];
    for (const [workspaces, text] of cases) assert.equal(barText(barState(workspaces), 1240), text);
  });
});

describe('numbers as people read them', () => {
  it('formats', () => {
    assert.deepEqual([0, 42.4, 61, 3599, 3661, null].map(duration), ['0 s', '42 s', '1 min 01 s', '59 min 59 s', '1 h 01 min', '–']);
    assert.deepEqual([0, 1.7e-6, 0.5, 31.25, 2480.2, -0.0123, null].map(compact), ['0', '1.7e-6', '0.5', '31.3', '2,480', '-0.0123', '–']);
    assert.equal(oneLine(' a\n\tb ', 10), 'a b');
    assert.equal(clip('abcdef', 3), 'abc\n… 3 more characters');
  });
});
