import assert from 'node:assert/strict';
import { RunBook } from '../../../src/runs/run-book.ts';
import { aRollout, aRun, aStep } from '../../fixtures/recorded-runs.ts';

describe('the run book', () => {
  const run = aRun('train');
  const following = (): { book: RunBook; changes: string[] } => {
    const book = new RunBook();
    const changes: string[] = [];
    book.onChanged = (id) => { changes.push(id); };
    book.put(run);
    return { book, changes };
  };
  const entryOf = (book: RunBook) => book.entries.get(run.run_id) ?? assert.fail('no entry');

  it('keeps steps in order, and a step that comes again replaces the first', () => {
    const { book } = following();
    for (const metrics of [aStep(1), aStep(0), aStep(1, { reward_mean: 0.9 })]) book.apply({ type: 'step', run_id: run.run_id, metrics });
    assert.deepEqual(entryOf(book).steps.map((step) => [step.step, step.reward_mean]), [[0, 0.43], [1, 0.9]]);
  });

  it('counts the rollouts of the present step, starting anew with the next', () => {
    const { book } = following();
    const tell = (index: number, step: number, ended: boolean): void => {
      book.apply({ type: 'rollout', run_id: run.run_id, rollout: aRollout(run, index, ended ? { outcome: 'timeout' } : null, { step, mode: 'train' }) });
    };
    tell(0, 0, false);
    tell(1, 0, false);
    tell(1, 0, true);
    tell(1, 0, true);
    assert.deepEqual(entryOf(book).rollouts, { ended: 1, total: 2 });
    tell(2, 1, false);
    assert.deepEqual(entryOf(book).rollouts, { ended: 0, total: 1 });
  });

  it('forgets the rollouts of a phase that is over', () => {
    const { book } = following();
    book.apply({ type: 'rollout', run_id: run.run_id, rollout: aRollout(run, 0, null) });
    book.apply({ type: 'run', run: { ...run, phase: 'evaluating-after' } });
    assert.equal(entryOf(book).rollouts, null);
  });

  it('ignores events of runs it does not know, and spans', () => {
    const { book, changes } = following();
    changes.length = 0;
    book.apply({ type: 'step', run_id: 'ru-000000000000', metrics: aStep(0) });
    book.apply({ type: 'spans', run_id: run.run_id, spans: [] });
    assert.deepEqual(changes, []);
  });

  it('marks what was active as interrupted when the trainer is gone', () => {
    const { book } = following();
    book.put(aRun('dev', { status: 'succeeded' }));
    book.interrupt();
    assert.deepEqual(book.list().map((entry) => [entry.run.kind, entry.run.status]).sort(), [['dev', 'succeeded'], ['train', 'interrupted']]);
    assert.deepEqual(book.active(), []);
  });

  it('does not go back to the answer of a start when events were quicker', () => {
    const book = new RunBook();
    book.apply({ type: 'run', run: aRun('dev', { status: 'succeeded' }) });
    book.begin(aRun('dev', { status: 'pending' }));
    assert.equal(book.list()[0]?.run.status, 'succeeded');
  });

  it('knows that a run waits until something of it moves, and keeps that out of the notices', () => {
    const { book } = following();
    const waits = (): void => { book.apply({ type: 'notice', run_id: run.run_id, level: 'warning', message: 'Waiting on the agent for 1 min', waiting: { on: 'the agent', since: 5 } }); };
    waits();
    assert.deepEqual(entryOf(book).waiting, { on: 'the agent', since: 5 });
    book.apply({ type: 'notice', run_id: run.run_id, level: 'info', message: 'something else' });
    assert.deepEqual(entryOf(book).waiting, { on: 'the agent', since: 5 });
    book.apply({ type: 'notice', run_id: run.run_id, level: 'info', message: 'Going on after 1 min.', waiting: null });
    assert.equal(entryOf(book).waiting, null);
    waits();
    book.apply({ type: 'rollout', run_id: run.run_id, rollout: aRollout(run, 0, null) });
    assert.equal(entryOf(book).waiting, null);
    waits();
    book.apply({ type: 'run', run });
    assert.equal(entryOf(book).waiting, null);
    assert.deepEqual(entryOf(book).notices.map((notice) => notice.message), ['something else', 'Going on after 1 min.']);
  });

  it('forgets a deleted run, and tells', () => {
    const { book, changes } = following();
    changes.length = 0;
    book.apply({ type: 'run-deleted', run_id: run.run_id });
    assert.deepEqual([book.list(), changes], [[], [run.run_id]]);
  });

  it('keeps only the latest notices', () => {
    const { book } = following();
    for (let index = 0; index < 50; index++) book.apply({ type: 'notice', run_id: run.run_id, level: 'info', message: String(index) });
    assert.equal(entryOf(book).notices.length, 20);
    assert.equal(entryOf(book).notices.at(-1)?.message, '49');
  });
});
