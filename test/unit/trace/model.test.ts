import assert from 'node:assert/strict';
import { rolloutHead } from '../../../src/views/rollout-view.ts';
import { spanRow } from '../../../src/views/span-row.ts';
import { packRows, unpackRows } from '../../../trainer/protocol/span-batch.ts';
import type { TreeRow } from '../../../trainer/protocol/span-batch.ts';
import type { SpanRow } from '../../../trainer/protocol/trace-views.ts';
import { errorsFirst, noFilters, replaysBeside, sieveOf } from '../../../webview/trace/filters.ts';
import type { Filters } from '../../../webview/trace/filters.ts';
import { Lines, TraceRollout } from '../../../webview/trace/model.ts';
import { tokenTone, visibleText } from '../../../webview/trace/token-tones.ts';
import { aRollout, aRun, spansOf } from '../../fixtures/recorded-runs.ts';

const rollout = aRollout(aRun('dev'), 0, { outcome: 'scored', reward: 1 });
const rows = spansOf(rollout, 1).map(spanRow);
const fresh = (given: SpanRow[] = rows): TreeRow[] => unpackRows(packRows(given));

function modelOf(spans: TreeRow[], of = rollout): TraceRollout {
  const model = new TraceRollout(rolloutHead(of, true));
  for (const span of spans) model.add(span);
  return model;
}
const titles = (rollouts: TraceRollout[], filters: Partial<Filters> = {}, folded: string[] = [], isOpen = true): string[] => {
  const lines = new Lines(rollouts, { isOpen: () => isOpen, isFolded: (id) => folded.includes(id) }, sieveOf({ ...noFilters, ...filters }));
  return Array.from({ length: lines.length }, (_, i) => { const { level, span, rollout: of } = lines.at(i); return `${'  '.repeat(level - 1)}${span?.title ?? of.head.title}`; });
};
const tree = ['How many books were published after 1990?', '  write_query', '    sql-policy', '  execute_query', '  check_query', '    sql-policy', '  final'];

describe('the tree of a trace', () => {
  it('nests spans below their rollout and their parent', () => { assert.deepEqual(titles([modelOf(fresh())]), tree); });

  it('is the same in whatever order the spans arrive', () => {
    assert.deepEqual(titles([modelOf(fresh().reverse())]), tree);
    const [first, second, ...rest] = fresh();
    assert.deepEqual(titles([modelOf([second!, ...rest.reverse(), first!])]), tree);
  });

  it('shows a child at the top until its parent arrives', () => {
    const model = modelOf([]);
    const [parent, child] = fresh();
    model.add(child!);
    assert.deepEqual(titles([model]).slice(1), ['  sql-policy']);
    model.add(parent!);
    assert.deepEqual(titles([model]).slice(1), ['  write_query', '    sql-policy']);
  });

  it('shows a span whose parent was never recorded, and survives one that is its own parent', () => {
    const [first, second] = fresh();
    assert.equal(titles([modelOf([{ ...first!, parent_id: 'gone' }, { ...second!, parent_id: second!.span_id }])]).length, 3);
  });

  it('takes a span that comes again as the same line, completed', () => {
    const model = modelOf([{ ...fresh()[0]!, end: null }]);
    assert.equal(model.open, 1);
    model.add({ ...fresh()[0]!, failed: true });
    assert.deepEqual([model.open, model.failures, titles([model]).length], [0, 1, 2]);
  });

  it('hides what is below a folded line', () => {
    assert.equal(titles([modelOf(fresh())], {}, [], false).length, 1);
    assert.equal(titles([modelOf(fresh())], {}, [rows[0]?.span_id ?? '']).length, 6);
  });

  it('tells screen readers the place of each line', () => {
    const lines = new Lines([modelOf(fresh())], { isOpen: () => true, isFolded: () => false }, sieveOf(noFilters));
    assert.deepEqual(Array.from({ length: lines.length }, (_, i) => { const { level, position, siblings, expanded } = lines.at(i); return [level, position, siblings, expanded]; }), [
      [1, 1, 1, true], [2, 1, 4, true], [3, 1, 1, null], [2, 2, 4, null], [2, 3, 4, true], [3, 1, 1, null], [2, 4, 4, null],
    ]);
    assert.equal(lines.indexOf(rollout.rollout_id, rows[2]?.span_id ?? ''), 3);
    assert.equal(lines.indexOf(rollout.rollout_id, ''), 0);
    assert.equal(lines.indexOf('other', ''), -1);
  });
});

describe('filters of a trace', () => {
  const scored = (index: number, reward: number): TraceRollout => { const of = aRollout(aRun('dev'), index, { outcome: 'scored', reward }); return modelOf(fresh(spansOf(of, reward).map(spanRow)), of); };
  const failed = (): TraceRollout => { const of = aRollout(aRun('dev'), 2, { outcome: 'timeout' }); const spans = fresh(spansOf(of, 0).map(spanRow)); spans[2]!.failed = true; return modelOf(spans, of); };
  const heads = (filters: Partial<Filters>): string[] => titles([scored(0, 1), scored(1, 0), failed()], filters, [], false);

  it('by the range of rewards: without a reward there is nothing to be in it', () => {
    assert.equal(heads({ rewardFrom: 0.5 }).length, 1);
    assert.equal(heads({ rewardTo: 1 }).length, 2);
    assert.equal(heads({ rewardFrom: 0, rewardTo: 0 }).length, 1);
  });

  it('by status', () => {
    assert.equal(heads({ status: 'scored' }).length, 2);
    assert.equal(heads({ status: 'errors' }).length, 1);
    assert.equal(heads({ status: 'running' }).length, 0);
  });

  it('by agent: its calls, with what encloses them', () => {
    assert.deepEqual(titles([scored(0, 1)], { agent: 'check_query' }).slice(1), ['  check_query', '    sql-policy']);
    assert.deepEqual(titles([scored(0, 1)], { agent: 'nobody' }), []);
  });

  it('by what the extension found in the texts, a folded line standing for what it hides', () => {
    const matches = new Set([`${rollout.rollout_id}/${rows[1]?.span_id}`]);
    assert.deepEqual(titles([scored(0, 1)], { text: 'books', matches }).slice(1), ['  write_query', '    sql-policy']);
    assert.deepEqual(titles([scored(0, 1)], { text: 'books', matches }, [rows[0]?.span_id ?? '']).slice(1), ['  write_query']);
  });

  it('errors first: failed rollouts, then those with failed spans, then the others as they were', () => {
    const withError = scored(1, 1);
    withError.add({ ...fresh()[0]!, span_id: 'x', failed: true });
    assert.deepEqual(errorsFirst([scored(0, 1), withError, failed()]).map(({ head }) => head.rollout_id), ['ro-000000000002', 'ro-000000000001', 'ro-000000000000']);
  });

  it('puts replays behind what they continue', () => {
    const of = (rollout_id: string, replay_of: string | null): TraceRollout => new TraceRollout({ ...rolloutHead(rollout, true), rollout_id, replay_of });
    assert.deepEqual(replaysBeside([of('a', null), of('b', null), of('c', 'a'), of('d', 'c'), of('e', 'gone')]).map(({ head }) => head.rollout_id), ['a', 'c', 'd', 'b', 'e']);
  });
});

describe('lines on their way to the page', () => {
  it('arrive as they were', () => {
    const odd: SpanRow[] = [...rows, { ...rows[0]!, span_id: 'late', parent_id: 'elsewhere', failed: true, agent: 'a', end: null }];
    const back = unpackRows(JSON.parse(JSON.stringify(packRows(odd))) as ReturnType<typeof packRows>);
    for (const [i, row] of odd.entries()) {
      const { start, end, children, ...rest } = back[i]!;
      assert.deepEqual({ ...rest, start: row.start, end: row.end }, row);
      assert.equal(children, null);
      assert.ok(Math.abs(start - row.start) < 1e-6);
      assert.ok(row.end === null ? end === null : end !== null && Math.abs(end - row.end) < 2e-6);
    }
    assert.deepEqual(unpackRows(packRows([])), []);
  });
});

describe('the colour of a token', () => {
  it('is stronger the less likely the token was', () => {
    const strengths = [0, -1, -5, -9].map((logprob) => tokenTone({ id: 1, text: 'a', logprob, advantage: null }, 'logprob', 1).strength);
    assert.deepEqual(strengths.map((strength) => Math.abs(strength)), [0, 0.2, 1, 1]);
  });

  it('tells reinforced from discouraged, and neither from unknown', () => {
    const tones = [2, -1, 0, null].map((advantage) => tokenTone({ id: 1, text: 'a', logprob: -0.1, advantage }, 'advantage', 2));
    assert.deepEqual(tones.map(({ tone, strength }) => [tone, strength]), [['good', 1], ['bad', 0.625], ['none', 0], ['none', 0]]);
    assert.equal(tones[0]?.words, 'log-probability -0.100 (90.5 %), advantage 2.000');
  });

  it('line ends and empty tokens are seen', () => { assert.deepEqual(['a\nb', '', '\t'].map(visibleText), ['a⏎\nb', '∅', '→\t']); });
});
