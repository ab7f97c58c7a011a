import assert from 'node:assert/strict';
import { AttemptLogs } from '../../../trainer/runner/attempt-logs.ts';
import type { WorkerSpan } from '../../../trainer/runner/messages.ts';
import { SpanRecorder } from '../../../trainer/runner/span-recorder.ts';
import { openStore, type Store } from '../../../trainer/store/store.ts';

describe('what is kept of an attempt', () => {
  let store: Store;
  let ids: { rollout_id: string; attempt_id: string };
  beforeEach(() => {
    store = openStore(':memory:');
    store.enqueueRollouts([{ input: 1 }]);
    const { rollout_id, attempt } = store.dequeueRollout('w')!;
    ids = { rollout_id, attempt_id: attempt!.attempt_id };
  });
  afterEach(() => store.close());

  const span = (span_id: string, more: Partial<WorkerSpan> = {}): WorkerSpan => ({
    ...ids, span_id: span_id.padStart(16, '0'), parent_id: null, name: 's', status: { status_code: 'OK' }, attributes: {}, events: [], start_time: 1, end_time: 2, ...more,
  });
  const recorder = () => new SpanRecorder(store, ids.rollout_id, ids.attempt_id);

  it('orders spans by their beginning, though they are written at their end', () => {
    const spans = recorder();
    spans.begin(span('a', { end_time: null }));
    spans.begin(span('b', { end_time: null }));
    spans.end(span('c'));
    spans.end(span('b'));
    spans.end(span('a'));
    spans.flush();
    assert.deepEqual(store.listSpans(ids.rollout_id).map(({ span_id }) => span_id.at(-1)), ['a', 'b', 'c']);
    assert.equal(store.listSpans(ids.rollout_id)[0]!.end_time, 2);
  });

  it('keeps spans that never ended, with the reason', () => {
    const spans = recorder();
    spans.begin(span('a', { end_time: null, start_time: 5 }));
    spans.abandonOpen('it hung');
    const [kept] = store.listSpans(ids.rollout_id);
    assert.deepEqual(kept!.status, { status_code: 'ERROR', description: 'did not end: it hung' });
    assert.ok(kept!.end_time! >= 5);
  });

  it('writes a span under the attempt it belongs to, whatever ids it claims', () => {
    const spans = recorder();
    spans.end(span('a', { rollout_id: 'ro-other', attempt_id: 'at-other' }));
    spans.flush();
    assert.equal(store.listSpans(ids.rollout_id).length, 1);
  });

  const logs = () => new AttemptLogs(store, ids.rollout_id, ids.attempt_id);
  const limit = 256 * 1024;

  it('keeps output in order and both streams apart', () => {
    const kept = logs();
    kept.write('stdout', 'a');
    kept.write('stderr', 'x');
    kept.write('stdout', 'b');
    kept.note('careful');
    kept.finish();
    assert.deepEqual(store.getLogs(ids.rollout_id), { stdout: 'ab', stderr: 'x[agent-trainer] careful\n' });
    kept.write('stdout', 'late');
    assert.equal(store.getLogs(ids.rollout_id).stdout, 'ablate');
  });

  for (const first of [limit, limit - 1, limit + 1]) {
    it(`bounds output and says so once, also when ${first} characters came first`, () => {
      const kept = logs();
      for (const length of [first, 2, 5]) kept.write('stdout', 'x'.repeat(length));
      kept.finish();
      const { stdout } = store.getLogs(ids.rollout_id);
      assert.equal(/^x*/.exec(stdout)![0].length, limit);
      assert.equal(stdout.match(/is not kept/g)?.length, 1);
    });
  }

  it('says nothing when exactly the limit came', () => {
    const kept = logs();
    kept.write('stdout', 'x'.repeat(limit));
    kept.finish();
    assert.equal(store.getLogs(ids.rollout_id).stdout.length, limit);
  });
});
