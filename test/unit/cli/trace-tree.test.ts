import assert from 'node:assert/strict';
import { stripVTControlCharacters } from 'node:util';
import { spanTree } from '../../../trainer/cli/trace-tree.ts';
import { attr, Span, spanNames } from '../../../trainer/protocol/span.ts';

const base = { rollout_id: 'ro-1', attempt_id: 'at-1', trace_id: 't'.repeat(32), status: { status_code: 'OK' }, attributes: {} };
const text = (spans: unknown[]) => stripVTControlCharacters(spanTree(spans.map((span) => Span.parse(span))));

describe('trace tree', () => {
  it('shows operations, calls and rewards with what matters of each', () => {
    const tree = text([
      { ...base, sequence_id: 1, span_id: 'a', parent_id: null, name: spanNames.operation, start_time: 10, end_time: 10.25, attributes: { [attr.operationLabel]: 'write_query', [attr.operationOutput]: '"SELECT 1"' } },
      { ...base, sequence_id: 2, span_id: 'b', parent_id: 'a', name: 'chat policy', start_time: 10, end_time: 10.2, attributes: { [attr.operationName]: 'chat', [attr.responseModel]: 'policy', [attr.inputTokens]: 90, [attr.outputTokens]: 12, [attr.outputMessages]: JSON.stringify([{ role: 'assistant', content: 'SELECT\n  1' }]) } },
      { ...base, sequence_id: 3, span_id: 'c', parent_id: null, name: spanNames.operation, start_time: 11, end_time: 11.002, status: { status_code: 'ERROR', description: 'no such column: x' }, attributes: { [attr.operationLabel]: 'execute_query' } },
      { ...base, sequence_id: 4, span_id: 'd', parent_id: null, name: spanNames.reward, start_time: 12, end_time: 12, attributes: { [attr.rewardValue]: 0, [attr.rewardReason]: 'two\nlines' } },
    ]);
    assert.equal(tree, [
      '  ├─ write_query 250 ms "SELECT 1"',
      '  │  └─ chat policy 200 ms 90 → 12 tokens SELECT 1',
      '  ├─ execute_query 2 ms  no such column: x',
      '  └─ reward <1 ms 0 two lines',
    ].join('\n'));
  });

  it('puts a span whose parent is unknown at the top, and says when there is none', () => {
    assert.match(text([{ ...base, sequence_id: 1, span_id: 'a', parent_id: 'gone', name: 'x', start_time: 1, end_time: null }]), /└─ x running/);
    assert.match(text([]), /no spans/);
  });
});
