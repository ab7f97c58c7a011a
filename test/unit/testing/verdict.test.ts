import assert from 'node:assert/strict';
import { contextOf, rolloutOf } from '../../../src/testing/rollout-context.ts';
import { placeInError, verdictOf } from '../../../src/testing/verdict.ts';
import { answerOf } from '../../../src/views/answer.ts';
import type { Outcome } from '../../../trainer/protocol/rollout.ts';
import { attr, spanNames } from '../../../trainer/protocol/span.ts';
import { expectedOf } from '../../../trainer/protocol/tasks.ts';
import { aRollout, aRun } from '../../fixtures/recorded-runs.ts';
import { callOf, spanOf } from '../adapter/support.ts';

const t = (text: string, ...values: string[]): string => text.replace(/\{(\d)\}/g, (_, index: string) => values[Number(index)] ?? '');
const judge = (end: { outcome: Outcome; reward?: number; error?: string }, { input = {}, answer = null, threshold = 1 }: { input?: unknown; answer?: string | null; threshold?: number } = {}) =>
  verdictOf(aRollout(aRun('eval'), 0, end, { input }), answer, threshold, t);

describe('the verdict on a task', () => {
  it('passes with a reward that reaches the threshold, also one that rounding keeps just below', () => {
    const tenths = Array(10).fill(0.1).reduce((sum: number, part: number) => sum + part, 0) as number;
    assert.notEqual(tenths, 1);
    for (const reward of [1, 1.5, tenths]) assert.deepEqual(judge({ outcome: 'scored', reward }), { kind: 'passed', reward });
    assert.equal(judge({ outcome: 'scored', reward: 0.5 }, { threshold: 0.5 }).kind, 'passed');
    assert.equal(judge({ outcome: 'scored', reward: 0 }, { threshold: 0 }).kind, 'passed');
    assert.equal(judge({ outcome: 'scored', reward: -0.1 }, { threshold: 0 }).kind, 'failed');
  });

  it('fails below it, and sets what was expected against what the agent answered', () => {
    assert.deepEqual(judge({ outcome: 'scored', reward: 0.25 }, { input: { question: 'Capital of Peru?', answer: 'Lima' }, answer: 'It is Cusco.' }), {
      kind: 'failed', message: 'Reward 0.25 is below 1', difference: { expected: 'reward ≥ 1\n\nLima', actual: 'reward 0.25\n\nIt is Cusco.' },
    });
    assert.deepEqual(judge({ outcome: 'scored', reward: 0 }, { input: 'Write a poem.', threshold: 0.5 }), {
      kind: 'failed', message: 'Reward 0 is below 0.5', difference: { expected: 'reward ≥ 0.5', actual: 'reward 0' },
    });
  });

  it('fails with the error of the agent, and knows nothing of the agent when something else failed or there is no reward', () => {
    for (const outcome of ['agent_error', 'timeout', 'context_overflow'] as const) assert.deepEqual(judge({ outcome, error: 'why' }), { kind: 'failed', message: 'why', difference: null });
    for (const outcome of ['unscored', 'infra_error'] as const) assert.deepEqual(judge({ outcome, error: 'why' }), { kind: 'errored', message: 'why' });
    assert.deepEqual(judge({ outcome: 'cancelled' }), { kind: 'skipped' });
    assert.deepEqual(verdictOf(aRollout(aRun('eval'), 0, null, { status: 'cancelled', attempt: null }), null, 1, t), { kind: 'skipped' });
  });

  it('an error that ends with a place in the agent is shown there', () => {
    assert.deepEqual(placeInError('ValueError: not (today) (/home/me/agent.py:12)'), { file: '/home/me/agent.py', line: 12 });
    assert.deepEqual(placeInError('Error: no (C:\\agents\\agent.ts:3)'), { file: 'C:\\agents\\agent.ts', line: 3 });
    for (const error of ['The agent did not finish within 120 s and was stopped.', 'Error: at (noon)']) assert.equal(placeInError(error), null);
  });

  it('a message leads to its rollout, other messages to none', () => {
    assert.deepEqual(rolloutOf(contextOf('ru-1', 'ro-2')), { run_id: 'ru-1', rollout_id: 'ro-2' });
    for (const other of [undefined, '', 'canApplyRichDiff']) assert.equal(rolloutOf(other), null);
  });
});

describe('what a task expects', () => {
  it('is in the field that holds the answer, the more telling one first', () => {
    assert.equal(expectedOf({ question: 'q', label: 'y', answer: 'x' }), 'x');
    assert.deepEqual(expectedOf({ target: { rows: 2 } }), { rows: 2 });
    assert.equal(expectedOf({ answer: null, reference: 0 }), 0);
    for (const input of [{ question: 'q' }, { answer: null }, 'answer', null, ['answer']]) assert.equal(expectedOf(input), undefined);
  });
});

describe('what an agent answered', () => {
  const said = (content: string | null, order: number, calls?: object[]) => callOf({ [attr.outputMessages]: JSON.stringify([{ role: 'assistant', content, tool_calls: calls }]) }, { sequence_id: order, span_id: `c${order}` });
  const operation = (output: string, order: number, parent_id: string | null) => spanOf({ name: spanNames.operation, sequence_id: order, span_id: `o${order}`, parent_id, attributes: { [attr.operationOutput]: output } });

  it('is the last text of its model, whatever the order the spans are in', () => {
    const tool = { id: 't', type: 'function', function: { name: 'look_up', arguments: '{}' } };
    assert.equal(answerOf([said('second', 5), said('first', 2), said(null, 7, [tool])]), 'second');
  });

  it('without one, the output of the last operation in the agent; not the reward, which the agent itself returns', () => {
    assert.equal(answerOf([operation('0.25', 1, null), operation('"Lima"', 3, 'o1'), operation('"Cusco"', 2, 'o1')]), 'Lima');
    assert.equal(answerOf([operation('0.25', 1, null)]), null);
    assert.equal(answerOf([]), null);
  });
});
