import assert from 'node:assert/strict';
import { drivers, spanOf, startRollout, storeWithClock, take } from './support.ts';

for (const driver of drivers) {
  describe(`store: watchdog (${driver})`, () => {
    it('ends an attempt when its time is over, spans or not', () => {
      const { store, clock } = storeWithClock(driver);
      const rollout = startRollout(store, { config: { timeout_seconds: 10 } });
      clock.time = 1009.9;
      store.addSpans([spanOf(rollout)]);
      assert.equal(store.getRollout(rollout.rollout_id)!.status, 'running');
      clock.time = 1010;
      const { status, end_time, attempt } = store.getRollout(rollout.rollout_id)!;
      assert.deepEqual([status, end_time, attempt!.status, attempt!.outcome, attempt!.reward], ['failed', 1010, 'timeout', 'timeout', null]);
      assert.match(attempt!.error!, /time limit after 10 s/);
      store.addSpans([spanOf(rollout)]);
      assert.equal(store.getRollout(rollout.rollout_id)!.status, 'failed');
    });

    it('refuses the result of an attempt whose time was over', () => {
      const { store, clock } = storeWithClock(driver);
      const { rollout_id, attempt } = startRollout(store, { config: { timeout_seconds: 10 } });
      clock.time = 1011;
      const late = store.finishAttempt(rollout_id, attempt.attempt_id, { outcome: 'scored', reward: 1 });
      assert.deepEqual([late.status, late.attempt!.outcome], ['failed', 'timeout']);
      assert.deepEqual((late.attempt!.metadata!.late_result as { reward: number }).reward, 1);
    });

    it('marks silence, and a span revives', () => {
      const { store, clock } = storeWithClock(driver);
      const rollout = startRollout(store, { config: { unresponsive_seconds: 5 } });
      clock.time = 1004;
      store.addSpans([spanOf(rollout)]);
      clock.time = 1008.9;
      assert.equal(store.getRollout(rollout.rollout_id)!.status, 'running');
      clock.time = 1009;
      const silent = store.getRollout(rollout.rollout_id)!;
      assert.deepEqual([silent.status, silent.end_time, silent.attempt!.status, silent.attempt!.outcome], ['failed', 1009, 'unresponsive', 'infra_error']);
      assert.equal(store.listWorkers()[0]!.status, 'unknown');
      store.addSpans([spanOf(rollout)]);
      const revived = store.getRollout(rollout.rollout_id)!;
      assert.deepEqual([revived.status, revived.end_time, revived.attempt!.status, revived.attempt!.outcome, revived.attempt!.error], ['running', null, 'running', null, null]);
      assert.equal(store.listWorkers()[0]!.status, 'busy');
    });

    it('measures silence from the start when no span ever came', () => {
      const { store, clock } = storeWithClock(driver);
      const { rollout_id } = startRollout(store, { config: { unresponsive_seconds: 5 } });
      clock.time = 1005;
      assert.equal(store.getRollout(rollout_id)!.attempt!.status, 'unresponsive');
    });

    it('takes the result of a silent attempt that nothing has replaced', () => {
      const { store, clock } = storeWithClock(driver);
      const { rollout_id, attempt } = startRollout(store, { config: { unresponsive_seconds: 5, max_attempts: 2, retry_condition: ['unresponsive'] } });
      clock.time = 1006;
      assert.equal(store.getRollout(rollout_id)!.status, 'requeuing');
      assert.equal(store.finishAttempt(rollout_id, attempt.attempt_id, { outcome: 'scored', reward: 1 }).status, 'succeeded');
      assert.equal(store.dequeueRollout('worker-2'), undefined);
    });

    it('counts the latest attempt only, once a silent one was replaced', () => {
      const { store, clock } = storeWithClock(driver);
      const first = startRollout(store, { config: { unresponsive_seconds: 5, max_attempts: 2, retry_condition: ['unresponsive'] } });
      clock.time = 1006;
      const second = take(store, 'worker-2');
      assert.deepEqual([second.rollout_id, second.attempt.sequence_id], [first.rollout_id, 2]);
      store.addSpans([spanOf(first)]);
      store.finishAttempt(first.rollout_id, first.attempt.attempt_id, { outcome: 'scored', reward: 0 });
      assert.deepEqual(store.getRollout(first.rollout_id)!.status, 'preparing');
      const ended = store.finishAttempt(first.rollout_id, second.attempt.attempt_id, { outcome: 'scored', reward: 1 });
      assert.deepEqual([ended.status, ended.attempt!.reward], ['succeeded', 1]);
    });
  });
}
