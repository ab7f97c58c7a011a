import assert from 'node:assert/strict';
import { attr } from '../../../trainer/protocol/span.ts';
import { keptCharacters } from '../../../trainer/store/logs.ts';
import { drivers, spanOf, startRollout, storeWithClock, take, trainerError } from './support.ts';

for (const driver of drivers) {
  describe(`store: spans and logs (${driver})`, () => {
    it('gives spans back as they came, ordered by sequence id, start, end', () => {
      const { store } = storeWithClock(driver);
      const rollout = startRollout(store);
      const attributes = { [attr.responseLogprobs]: [-0.1234567890123456, -1e-300, 0], [attr.promptTokenIds]: [1, 2], text: 'a\u0000\ud800"', flag: true, list: ['x'] };
      const spans = [
        spanOf(rollout, { sequence_id: 1, start_time: 5, attributes }),
        spanOf(rollout, { sequence_id: 2, start_time: 1, end_time: 2 }),
        spanOf(rollout, { sequence_id: 2, start_time: 1, end_time: 3 }),
        spanOf(rollout, { sequence_id: 2, start_time: 1, end_time: null }),
        spanOf(rollout, { sequence_id: 2, start_time: 4, events: [{ name: 'exception', timestamp: 4.5, attributes: { kind: 'x' } }], status: { status_code: 'ERROR', description: 'bad' } }),
      ];
      store.addSpans([spans[4]!, spans[2]!, spans[0]!]);
      store.addSpans([spans[3]!, spans[1]!]);
      assert.deepEqual(store.listSpans(rollout.rollout_id), spans);
    });

    it('stores a span once and tells of it once', () => {
      const { store, events } = storeWithClock(driver);
      const rollout = startRollout(store, { run_id: 'ru-a' });
      const [one, two] = [spanOf(rollout), spanOf(rollout)];
      store.addSpans([one, one]);
      store.addSpans([{ ...one, name: 'changed' }, two]);
      assert.deepEqual(store.listSpans(rollout.rollout_id), [one, two]);
      assert.deepEqual(events.filter((event) => event.type === 'spans').map(({ run_id, spans }) => [run_id, spans]), [['ru-a', [one]], ['ru-a', [two]]]);
    });

    it('takes all of a batch or nothing', () => {
      const { store } = storeWithClock(driver);
      const rollout = startRollout(store);
      assert.throws(() => store.addSpans([spanOf(rollout), spanOf(rollout, { attributes: { [attr.responseLogprobs]: [NaN] } })]), trainerError('bad_input', /1\.attributes/));
      assert.throws(() => store.addSpans([spanOf(rollout), { ...spanOf(rollout), attempt_id: 'at-unknown' }]), trainerError('not_found', /at-unknown/));
      assert.deepEqual(store.listSpans(rollout.rollout_id), []);
      assert.equal(store.getRollout(rollout.rollout_id)!.status, 'preparing');
    });

    it('numbers spans without gaps, past numbers that writers brought along', () => {
      const { store } = storeWithClock(driver);
      const { rollout_id, attempt: { attempt_id }, ...rest } = startRollout(store);
      assert.deepEqual([1, 2, 3].map(() => store.nextSequenceId(rollout_id, attempt_id)), [1, 2, 3]);
      store.addSpans([spanOf({ rollout_id, ...rest, attempt: { attempt_id } as never }, { sequence_id: 10 })]);
      assert.equal(store.nextSequenceId(rollout_id, attempt_id), 11);
      assert.throws(() => store.nextSequenceId(rollout_id, 'at-unknown'), trainerError('not_found', /at-unknown/));
    });

    it('shows the latest attempt unless asked for another, and counts it', () => {
      const { store } = storeWithClock(driver);
      const first = startRollout(store, { config: { max_attempts: 2, retry_condition: ['failed'] } });
      store.addSpans([spanOf(first), spanOf(first)]);
      store.appendLog(first.rollout_id, first.attempt.attempt_id, 'stdout', 'one');
      store.finishAttempt(first.rollout_id, first.attempt.attempt_id, { outcome: 'agent_error' });
      assert.equal(store.listSpans(first.rollout_id).length, 2);
      const second = take(store);
      store.addSpans([spanOf(second)]);
      assert.equal(store.listSpans(first.rollout_id).length, 1);
      assert.equal(store.listSpans(first.rollout_id, first.attempt.attempt_id).length, 2);
      assert.deepEqual(store.countSpans([first.rollout_id, 'ro-unknown']), new Map([[first.rollout_id, 1], ['ro-unknown', 0]]));
      assert.deepEqual(store.getLogs(first.rollout_id), { stdout: '', stderr: '' });
      assert.deepEqual(store.getLogs(first.rollout_id, first.attempt.attempt_id), { stdout: 'one', stderr: '' });
    });

    it('keeps logs per stream, whatever characters, up to a bound that it states', () => {
      const { store } = storeWithClock(driver);
      const { rollout_id, attempt: { attempt_id } } = startRollout(store);
      store.appendLog(rollout_id, attempt_id, 'stdout', 'a\u0000');
      store.appendLog(rollout_id, attempt_id, 'stderr', 'err\ud800');
      store.appendLog(rollout_id, attempt_id, 'stdout', 'b\n');
      assert.deepEqual(store.getLogs(rollout_id), { stdout: 'a\u0000b\n', stderr: 'err\ud800' });
      store.appendLog(rollout_id, attempt_id, 'stdout', 'x'.repeat(keptCharacters));
      store.appendLog(rollout_id, attempt_id, 'stdout', 'y'.repeat(7));
      const { stdout } = store.getLogs(rollout_id);
      assert.ok(stdout.startsWith('a\u0000b\nxx'));
      assert.ok(stdout.endsWith('x\n[11 more characters were not kept]\n'), stdout.slice(-60));
      assert.throws(() => store.appendLog(rollout_id, 'at-unknown', 'stdout', 'x'), trainerError('not_found', /at-unknown/));
    });
  });
}
