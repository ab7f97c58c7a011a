import assert from 'node:assert/strict';
import { rowsOf } from '../../../webview/trace/rows.ts';
import { rolloutView } from '../../../src/views/rollout-view.ts';
import { spanView } from '../../../src/views/span-view.ts';
import { aRollout, aRun, spansOf } from '../../fixtures/recorded-runs.ts';

describe('the lines of the trace tree', () => {
  const rollout = aRollout(aRun('dev'), 0, { outcome: 'scored', reward: 1 });
  const spans = spansOf(rollout, 1).map(spanView);
  const view = rolloutView(rollout, spans, null);
  const lines = (collapsed: (key: string) => boolean, of = view): string[] => rowsOf([of], collapsed, 0).map((row) => `${'  '.repeat(row.level - 1)}${row.title}`);

  it('nests spans below their rollout and their parent', () => {
    assert.deepEqual(lines(() => false), [
      'How many books were published after 1990?', '  write_query', '    sql-policy', '  execute_query', '  check_query', '    sql-policy', '  final',
    ]);
  });

  it('hides what is below a folded line', () => {
    assert.equal(lines((key) => key === view.rollout_id).length, 1);
    assert.equal(lines((key) => key.endsWith(spans[0]?.span_id ?? '?')).length, 6);
  });

  it('shows a span whose parent was never recorded, and survives one that is its own parent', () => {
    const [first, second] = [spans[0] ?? assert.fail(), spans[1] ?? assert.fail()];
    const odd = { ...view, spans: [{ ...first, parent_id: 'gone' }, { ...second, parent_id: second.span_id }] };
    assert.equal(lines(() => false, odd).length, 3);
  });

  it('places each span in the time of its rollout', () => {
    const times = rowsOf([view], () => false, 0).flatMap((row) => (row.time === null ? [] : [row.time]));
    for (const { start, width } of times) assert.ok(start >= 0 && width >= 0 && start + width <= 1 + 1e-9);
    assert.equal(times[0]?.start, 0);
  });
});
