import assert from 'node:assert/strict';
import { outcomes } from '../../../trainer/protocol/rollout.ts';
import { drivers, spanOf, startRollout, storeWithClock, take, trainerError } from './support.ts';

for (const driver of drivers) {
  describe(`store: rollouts (${driver})`, () => {
    it('hands out rollouts in order, each once, with attempts from 1', () => {
      const { store } = storeWithClock(driver);
      const queued = store.enqueueRollouts([{ input: 1 }, { input: [2] }, { input: { three: '\u0000\ud800' } }]);
      const taken = [take(store), take(store), take(store)];
      assert.deepEqual(taken.map(({ rollout_id }) => rollout_id), queued.map(({ rollout_id }) => rollout_id));
      assert.deepEqual(taken.map(({ input }) => input), [1, [2], { three: '\u0000\ud800' }]);
      assert.deepEqual(taken.map(({ attempt }) => attempt.sequence_id), [1, 1, 1]);
      assert.deepEqual(taken.map(({ status, attempt }) => [status, attempt.status]), Array(3).fill(['preparing', 'preparing']));
      assert.equal(store.dequeueRollout('worker-1'), undefined);
      assert.match(taken[0]!.rollout_id, /^ro-[0-9a-f]{12}$/);
      assert.match(taken[0]!.attempt.attempt_id, /^at-[0-9a-f]{12}$/);
    });

    it('lists of a step leave out the rollouts of an earlier try at it; other lists have them, marked', () => {
      const { store } = storeWithClock(driver);
      const make = (step: number | null, metadata: Record<string, unknown> | null) => store.enqueueRollouts([{ input: 1, run_id: 'ru-a', step, metadata }])[0]!.rollout_id;
      const [kept, first, bare, evaluation] = [make(0, { sample: 0 }), make(1, { sample: 0 }), make(1, null), make(null, null)];
      const other = store.enqueueRollouts([{ input: 1, run_id: 'ru-b', step: 1 }])[0]!.rollout_id;
      store.supersedeRollouts('ru-a', 1);
      const anew = make(1, { sample: 0 });
      const ids = (query: object) => store.listRollouts(query).map(({ rollout_id }) => rollout_id);
      assert.deepEqual([ids({ run_id: 'ru-a', step: 0 }), ids({ run_id: 'ru-a', step: 1 }), ids({ run_id: 'ru-b', step: 1 })], [[kept], [anew], [other]]);
      assert.deepEqual(ids({ run_id: 'ru-a' }), [kept, first, bare, evaluation, anew]);
      assert.deepEqual([first, bare, evaluation].map((id) => store.getRollout(id)?.metadata), [{ sample: 0, superseded: true }, { superseded: true }, null]);
    });

    it('keeps the runs apart', () => {
      const { store } = storeWithClock(driver);
      store.enqueueRollouts([{ input: 'a', run_id: 'ru-a' }, { input: 'b', run_id: 'ru-b' }]);
      assert.equal(take(store, 'w', { run_id: 'ru-b' }).input, 'b');
      assert.equal(store.dequeueRollout('w', { run_id: 'ru-b' }), undefined);
      assert.equal(store.listRollouts({ run_id: 'ru-a' }).length, 1);
    });

    it('fills in the defaults of the config and refuses a wrong one, enqueuing nothing', () => {
      const { store } = storeWithClock(driver);
      assert.throws(() => store.enqueueRollouts([{ input: 1 }, { input: 2, config: { max_attempts: 0 } }]), trainerError('bad_input', /Rollout 2 of 2: config\.max_attempts/));
      assert.throws(() => store.enqueueRollouts([{ input: undefined }]), trainerError('bad_input', /input .* JSON/));
      assert.throws(() => store.enqueueRollouts([{ input: 1n }]), trainerError('bad_input', /BigInt/));
      assert.deepEqual(store.listRollouts({}), []);
      const [rollout] = store.enqueueRollouts([{ input: 1 }]);
      assert.deepEqual(rollout!.config, { timeout_seconds: null, unresponsive_seconds: null, max_attempts: 1, retry_condition: [], backend: null, sampling: {}, seed: null });
    });

    it('makes of each outcome the state that belongs to it', () => {
      const expected: Record<string, [string, string]> = {
        scored: ['succeeded', 'succeeded'], unscored: ['succeeded', 'succeeded'], agent_error: ['failed', 'failed'], infra_error: ['failed', 'failed'],
        timeout: ['timeout', 'failed'], cancelled: ['failed', 'cancelled'], context_overflow: ['failed', 'failed'],
      };
      for (const outcome of outcomes) {
        const { store } = storeWithClock(driver);
        const rollout = startRollout(store);
        const ended = store.finishAttempt(rollout.rollout_id, rollout.attempt.attempt_id, outcome === 'scored' ? { outcome, reward: -0.25 } : { outcome });
        assert.deepEqual([ended.attempt!.status, ended.status], expected[outcome], outcome);
        assert.equal(ended.attempt!.outcome, outcome);
        assert.equal(ended.attempt!.reward, outcome === 'scored' ? -0.25 : null);
        assert.equal(ended.attempt!.error === null, outcome === 'scored');
        assert.deepEqual(store.getRollout(rollout.rollout_id), ended);
      }
    });

    it('refuses rewards that are none', () => {
      const { store } = storeWithClock(driver);
      const { rollout_id, attempt: { attempt_id } } = startRollout(store);
      for (const reward of [NaN, Infinity, -Infinity, '1', true] as number[]) {
        assert.throws(() => store.finishAttempt(rollout_id, attempt_id, { outcome: 'scored', reward }), trainerError('bad_input', /reward/), String(reward));
      }
      assert.throws(() => store.finishAttempt(rollout_id, attempt_id, { outcome: 'scored' }), trainerError('bad_input', /reward/));
      assert.throws(() => store.finishAttempt(rollout_id, attempt_id, { outcome: 'agent_error', reward: 0 }), trainerError('bad_input', /reward/));
      assert.throws(() => store.finishAttempt(rollout_id, 'at-unknown', { outcome: 'unscored' }), trainerError('not_found', /at-unknown/));
      assert.equal(store.getRollout(rollout_id)!.status, 'preparing');
    });

    it('counts the first result only', () => {
      const { store, clock } = storeWithClock(driver);
      const { rollout_id, attempt: { attempt_id } } = startRollout(store);
      const first = store.finishAttempt(rollout_id, attempt_id, { outcome: 'scored', reward: 1 });
      clock.time += 5;
      assert.deepEqual(store.finishAttempt(rollout_id, attempt_id, { outcome: 'scored', reward: 1 }), first);
      const second = store.finishAttempt(rollout_id, attempt_id, { outcome: 'agent_error', error: 'too late' });
      assert.deepEqual(second.attempt!.metadata, { late_result: { outcome: 'agent_error', reward: null, error: 'too late', time: 1005 } });
      assert.deepEqual({ ...second, attempt: { ...second.attempt, metadata: null } }, first);
    });

    it('requeues while the retry condition holds and attempts are left, before newer rollouts', () => {
      const { store } = storeWithClock(driver);
      const config = { max_attempts: 2, retry_condition: ['failed' as const] };
      const first = startRollout(store, { config });
      store.enqueueRollouts([{ input: 'newer' }]);
      assert.equal(store.finishAttempt(first.rollout_id, first.attempt.attempt_id, { outcome: 'infra_error' }).status, 'requeuing');
      const again = take(store);
      assert.deepEqual([again.rollout_id, again.attempt.sequence_id], [first.rollout_id, 2]);
      assert.equal(store.finishAttempt(first.rollout_id, again.attempt.attempt_id, { outcome: 'infra_error' }).status, 'failed');
    });

    it('does not retry what the condition does not name', () => {
      const { store } = storeWithClock(driver);
      const { rollout_id, attempt } = startRollout(store, { config: { max_attempts: 3, retry_condition: ['timeout'] } });
      assert.equal(store.finishAttempt(rollout_id, attempt.attempt_id, { outcome: 'agent_error' }).status, 'failed');
    });

    it('cancels waiting and running rollouts, and leaves finished ones', () => {
      const { store } = storeWithClock(driver);
      const done = startRollout(store, { run_id: 'ru-a' });
      store.finishAttempt(done.rollout_id, done.attempt.attempt_id, { outcome: 'scored', reward: 1 });
      const running = startRollout(store, { run_id: 'ru-a' });
      store.enqueueRollouts([{ input: 'waiting', run_id: 'ru-a' }, { input: 'other', run_id: 'ru-b' }]);
      assert.equal(store.cancelRollouts({ run_id: 'ru-a' }), 2);
      assert.equal(store.cancelRollouts({ run_id: 'ru-a' }), 0);
      assert.deepEqual(store.listRollouts({ run_id: 'ru-a' }).map(({ status, attempt }) => [status, attempt?.outcome]), [['succeeded', 'scored'], ['cancelled', 'cancelled'], ['cancelled', undefined]]);
      const late = store.finishAttempt(running.rollout_id, running.attempt.attempt_id, { outcome: 'scored', reward: 1 });
      assert.deepEqual([late.status, late.attempt!.outcome, late.attempt!.reward], ['cancelled', 'cancelled', null]);
      assert.equal(take(store).input, 'other');
      assert.throws(() => store.cancelRollouts({ rollout_ids: ['ro-unknown'] }), trainerError('not_found', /ro-unknown/));
    });

    it('lists by run, step, mode, status and page', () => {
      const { store } = storeWithClock(driver);
      store.enqueueRollouts([0, 1, 2, 3].map((i) => ({ input: i, run_id: 'ru-a', step: i % 2, mode: i < 2 ? 'train' as const : 'val' as const })));
      take(store);
      const inputs = (query: Parameters<typeof store.listRollouts>[0]) => store.listRollouts(query).map(({ input }) => input);
      assert.deepEqual(inputs({ step: 1 }), [1, 3]);
      assert.deepEqual(inputs({ mode: 'val' }), [2, 3]);
      assert.deepEqual(inputs({ status_in: ['preparing'] }), [0]);
      assert.deepEqual(inputs({ status_in: [] }), []);
      assert.deepEqual(inputs({ limit: 2, offset: 1 }), [1, 2]);
      assert.deepEqual(inputs({ offset: 3 }), [3]);
    });

    it('tells of every change after it is committed', () => {
      const { store, events } = storeWithClock(driver);
      const seen: unknown[] = [];
      store.onEvent((event) => { if (event.type === 'rollout') seen.push(store.getRollout(event.rollout.rollout_id)?.status); });
      const rollout = startRollout(store, { run_id: 'ru-a' });
      store.addSpans([spanOf(rollout)]);
      store.finishAttempt(rollout.rollout_id, rollout.attempt.attempt_id, { outcome: 'scored', reward: 1 });
      assert.deepEqual(events.map((event) => (event.type === 'rollout' ? event.rollout.status : event.type)), ['queuing', 'preparing', 'running', 'spans', 'succeeded']);
      assert.deepEqual(seen, ['queuing', 'preparing', 'running', 'succeeded']);
      assert.throws(() => store.finishAttempt(rollout.rollout_id, 'nope', { outcome: 'unscored' }));
      assert.equal(events.length, 5);
    });

    it('delivers the events of a write made in a listener after the present ones', () => {
      const { store } = storeWithClock(driver);
      const order: string[] = [];
      let once = true;
      store.onEvent((event) => {
        if (event.type !== 'rollout') return;
        order.push(`first ${event.rollout.input as string}`);
        if (once) store.enqueueRollouts([{ input: 'nested' }]);
        once = false;
      });
      store.onEvent((event) => { if (event.type === 'rollout') order.push(`second ${event.rollout.input as string}`); });
      store.enqueueRollouts([{ input: 'a' }, { input: 'b' }]);
      assert.deepEqual(order, ['first a', 'second a', 'first b', 'second b', 'first nested', 'second nested']);
    });
  });
}
