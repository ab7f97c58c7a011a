import assert from 'node:assert/strict';
import { explanationOf } from '../../../src/tools/explanation.ts';
import { creditCalls } from '../../../trainer/adapter/credit.ts';
import type { TraceCredit } from '../../../trainer/protocol/credit.ts';
import { attr, isLlmCall } from '../../../trainer/protocol/span.ts';
import { aRollout, aRun, spansOf } from '../../fixtures/recorded-runs.ts';

describe('the explanation of a reward for a language model', () => {
  it('names outcome, rewards with the calls they credit, calls and failures, and stays short', () => {
    const rollout = aRollout(aRun('dev'), 0, { outcome: 'scored', reward: 0.5 }, { input: { question: 'How many?', answer: 'x'.repeat(5000) } });
    const spans = spansOf(rollout, 0.5);
    const failing = spans.find(isLlmCall)!;
    failing.status = { status_code: 'ERROR', description: 'The server was busy.' };
    const { rewards, calls } = creditCalls(spans, { kind: 'per_step' }, {});
    const credit: TraceCredit = { settings: { rule: { kind: 'per_step' }, links: {} }, rewards, calls: calls.map((call) => ({ ...call, advantage: null })), group: 1, reason: 'There is nothing to compare with.' };
    spans.find(({ span_id }) => span_id === rewards[0]?.span_id)!.attributes[attr.rewardReason] = 'half of the rows';

    const explained = JSON.parse(JSON.stringify(explanationOf(rollout, spans, credit))) as Record<string, unknown> & { rewards: unknown[]; calls: { call: number; operation: string; credit: number | null }[] };
    assert.deepEqual([explained['rollout_id'], explained['outcome'], explained['reward'], explained['error']], [rollout.rollout_id, 'scored', 0.5, null]);
    assert.deepEqual(explained.rewards, [{ name: rewards[0]?.name, value: 0.5, reason: 'half of the rows', credits_calls: [calls.at(-1)?.call_index], linked_by: 'rule' }]);
    assert.deepEqual(explained.calls.map(({ call, credit: credited }) => [call, credited]), calls.map(({ call_index, credit: credited }) => [call_index, credited]));
    assert.equal(explained.calls[0]?.operation, 'write_query');
    assert.deepEqual(explained['failed'], [{ what: 'sql-policy', error: 'The server was busy.' }]);
    assert.equal(explained['no_advantage_because'], 'There is nothing to compare with.');
    assert.ok(JSON.stringify(explained).length < 5000);
  });
});
