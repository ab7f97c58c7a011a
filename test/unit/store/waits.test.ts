import assert from 'node:assert/strict';
import { openStore } from '../../../trainer/store/store.ts';
import { spanOf, startRollout, storeWithClock, take, trainerError } from './support.ts';

describe('store: waiting for rollouts', () => {
  it('resolves with the final states in the order asked, when the last one ends', async () => {
    const { store } = storeWithClock();
    const [a, b] = [startRollout(store, { input: 'a' }), startRollout(store, { input: 'b' })];
    let resolved = false;
    const waiting = store.waitForRollouts([b.rollout_id, a.rollout_id, b.rollout_id]).finally(() => { resolved = true; });
    store.finishAttempt(a.rollout_id, a.attempt.attempt_id, { outcome: 'scored', reward: 1 });
    await new Promise(setImmediate);
    assert.equal(resolved, false);
    store.cancelRollouts({ rollout_ids: [b.rollout_id] });
    assert.deepEqual((await waiting).map(({ input, status }) => [input, status]), [['b', 'cancelled'], ['a', 'succeeded'], ['b', 'cancelled']]);
  });

  it('resolves at once when all are over, and for none', async () => {
    const { store } = storeWithClock();
    const { rollout_id, attempt } = startRollout(store);
    store.finishAttempt(rollout_id, attempt.attempt_id, { outcome: 'unscored' });
    assert.equal((await store.waitForRollouts([rollout_id])).length, 1);
    assert.deepEqual(await store.waitForRollouts([]), []);
  });

  it('waits on when a silent attempt that had failed its rollout lives after all', async () => {
    const { store, clock } = storeWithClock();
    const [a, b] = [startRollout(store, { config: { unresponsive_seconds: 5 } }), startRollout(store)];
    const waiting = store.waitForRollouts([a.rollout_id, b.rollout_id]);
    clock.time += 6;
    assert.equal(store.getRollout(a.rollout_id)!.status, 'failed');
    store.addSpans([spanOf(a)]);
    store.finishAttempt(b.rollout_id, b.attempt.attempt_id, { outcome: 'scored', reward: 0 });
    store.finishAttempt(a.rollout_id, a.attempt.attempt_id, { outcome: 'scored', reward: 1 });
    assert.deepEqual((await waiting).map(({ attempt }) => attempt!.reward), [1, 0]);
  });

  it('sees a retry through to its end', async () => {
    const { store } = storeWithClock();
    const first = startRollout(store, { config: { max_attempts: 2, retry_condition: ['failed'] } });
    const waiting = store.waitForRollouts([first.rollout_id]);
    store.finishAttempt(first.rollout_id, first.attempt.attempt_id, { outcome: 'infra_error' });
    const second = take(store);
    store.finishAttempt(second.rollout_id, second.attempt.attempt_id, { outcome: 'scored', reward: 1 });
    assert.equal((await waiting)[0]!.attempt!.sequence_id, 2);
  });

  it('lets a time limit pass although nobody calls the store', async () => {
    const store = openStore(':memory:');
    const { rollout_id } = startRollout(store, { config: { timeout_seconds: 0.02 } });
    const [rollout] = await store.waitForRollouts([rollout_id]);
    assert.equal(rollout!.attempt!.outcome, 'timeout');
    store.close();
  });

  it('rejects on abort, on close and for an unknown rollout', async () => {
    const { store } = storeWithClock();
    const { rollout_id } = startRollout(store);
    const controller = new AbortController();
    const aborted = store.waitForRollouts([rollout_id], { signal: controller.signal });
    const closed = store.waitForRollouts([rollout_id]);
    controller.abort();
    await assert.rejects(aborted, trainerError('cancelled', /cancelled/));
    await assert.rejects(store.waitForRollouts([rollout_id], { signal: controller.signal }), trainerError('cancelled', /cancelled/));
    await assert.rejects(store.waitForRollouts(['ro-unknown']), trainerError('not_found', /ro-unknown/));
    store.close();
    await assert.rejects(closed, trainerError('cancelled', /closed/));
  });
});
