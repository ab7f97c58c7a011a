import assert from 'node:assert/strict';
import type { Run, StepMetrics } from '../../../trainer/protocol/run.ts';
import { newId, newSpanId, traceIdOf } from '../../../trainer/store/ids.ts';
import { drivers, spanOf, startRollout, storeWithClock, trainerError } from './support.ts';

function runOf(run_id: string, create_time: number): Run {
  return { run_id, kind: 'train', status: 'running', phase: 'starting', agent: 'agent.ts:solve', config: { grpo: { lr: 1e-6 } }, create_time, end_time: null, error: null, result: null };
}

function stepOf(step: number, reward_mean: number | null): StepMetrics {
  return {
    step, policy_version: step + 1, reward_mean, reward_std: null, val_reward: null, groups: 1, groups_without_variance: 0, updated: true, loss: 0.1, kl: null, staleness: null, entropy: 1,
    clip_fraction: 0, grad_norm: 1, lr: 1e-6, ratio_deviation: 0, logprob_max_diff: 0, response_tokens_mean: 3, trained_tokens: 10, rollouts_per_s: 1, tokens_per_s: 2,
    rollout_s: 1, train_s: 1, eta_s: null, funnel: { rollouts: 1, calls: 1, with_token_ids: 1, scored: 1, trainable: 1, used: 1, losses: [] },
  };
}

for (const driver of drivers) {
  describe(`store: runs, resources, workers (${driver})`, () => {
    it('keeps runs, newest first, and changes only what a patch names', () => {
      const { store, events } = storeWithClock(driver);
      store.createRun(runOf('ru-a', 1));
      store.createRun(runOf('ru-b', 2));
      assert.deepEqual(store.listRuns().map(({ run_id }) => run_id), ['ru-b', 'ru-a']);
      const patched = store.updateRun('ru-a', { status: 'succeeded', result: { steps: 3 }, end_time: 9 });
      assert.deepEqual(patched, { ...runOf('ru-a', 1), status: 'succeeded', result: { steps: 3 }, end_time: 9 });
      assert.deepEqual(store.getRun('ru-a'), patched);
      assert.deepEqual(events.map(({ type }) => type), ['run', 'run', 'run']);
      assert.throws(() => store.createRun(runOf('ru-a', 3)), trainerError('conflict', /ru-a/));
      assert.throws(() => store.updateRun('ru-c', {}), trainerError('not_found', /ru-c/));
      assert.throws(() => store.updateRun('ru-a', { status: 'odd' as never }), trainerError('bad_input', /status/));
      assert.equal(store.getRun('ru-c'), undefined);
    });

    it('deletes a run with everything of it, and nothing else', () => {
      const { store, events } = storeWithClock(driver);
      for (const id of ['ru-a', 'ru-b']) {
        store.createRun(runOf(id, 1));
        store.addStep(id, stepOf(0, 0.5));
        const rollout = startRollout(store, { run_id: id });
        store.addSpans([spanOf(rollout)]);
        store.appendLog(rollout.rollout_id, rollout.attempt.attempt_id, 'stdout', 'hello');
      }
      const [gone, kept] = ['ru-a', 'ru-b'].map((run_id) => store.listRollouts({ run_id })[0]!.rollout_id);
      store.deleteRun('ru-a');
      assert.deepEqual(events.at(-1), { type: 'run-deleted', run_id: 'ru-a' });
      assert.deepEqual(store.listRuns().map(({ run_id }) => run_id), ['ru-b']);
      assert.deepEqual([store.listSteps('ru-a'), store.getRollout(gone!), store.listSpans(gone!)], [[], undefined, []]);
      assert.deepEqual([store.listSteps('ru-b').length, store.listSpans(kept!).length, store.getLogs(kept!).stdout], [1, 1, 'hello']);
      assert.throws(() => store.deleteRun('ru-a'), trainerError('not_found', /ru-a/));
    });

    it('keeps steps in order; the same step again replaces the old', () => {
      const { store, events } = storeWithClock(driver);
      store.createRun(runOf('ru-a', 1));
      store.addStep('ru-a', stepOf(1, 0.5));
      store.addStep('ru-a', stepOf(0, null));
      store.addStep('ru-a', stepOf(1, 0.75));
      assert.deepEqual(store.listSteps('ru-a'), [stepOf(0, null), stepOf(1, 0.75)]);
      assert.deepEqual(events.filter(({ type }) => type === 'step').length, 3);
      assert.throws(() => store.addStep('ru-a', stepOf(2, NaN)), trainerError('bad_input', /reward_mean/));
      assert.throws(() => store.addStep('ru-b', stepOf(0, 1)), trainerError('not_found', /ru-b/));
    });

    it('versions resources', () => {
      const { store } = storeWithClock(driver);
      assert.equal(store.latestResources(), undefined);
      const first = store.addResources({ llm: { resource_type: 'llm', endpoint: 'http://127.0.0.1:1/v1', model: 'policy' } });
      const second = store.addResources({ prompt: { resource_type: 'prompt_template', template: 'Hi {name}', engine: 'f-string' } });
      assert.deepEqual([first.version, second.version], [1, 2]);
      assert.deepEqual(first.resources.llm, { resource_type: 'llm', endpoint: 'http://127.0.0.1:1/v1', model: 'policy', api_key: null, sampling_parameters: {} });
      assert.deepEqual(store.latestResources(), second);
      assert.deepEqual(store.getResources(first.resources_id), first);
      assert.throws(() => store.addResources({ llm: { resource_type: 'nothing' } as never }), trainerError('bad_input', /llm/));
    });

    it('knows workers by their heartbeats and attempts', () => {
      const { store, clock } = storeWithClock(driver);
      assert.deepEqual(store.heartbeat('worker-1', { rss: 5 }), {
        worker_id: 'worker-1', status: 'idle', last_heartbeat_time: 1000, last_dequeue_time: null, last_busy_time: null, last_idle_time: null,
        current_rollout_id: null, current_attempt_id: null, heartbeat_stats: { rss: 5 },
      });
      clock.time = 1001;
      const { rollout_id, attempt } = startRollout(store);
      const busy = store.heartbeat('worker-1');
      assert.deepEqual([busy.status, busy.current_rollout_id, busy.current_attempt_id, busy.last_dequeue_time, busy.heartbeat_stats], ['busy', rollout_id, attempt.attempt_id, 1001, { rss: 5 }]);
      clock.time = 1002;
      store.finishAttempt(rollout_id, attempt.attempt_id, { outcome: 'unscored' });
      const [idle] = store.listWorkers();
      assert.deepEqual([idle!.status, idle!.current_attempt_id, idle!.last_idle_time], ['idle', null, 1002]);
    });
  });
}

describe('store: ids', () => {
  it('have their shapes', () => {
    assert.match(newId('ru'), /^ru-[0-9a-f]{12}$/);
    assert.match(newSpanId(), /^[0-9a-f]{16}$/);
    assert.match(traceIdOf('at-1'), /^[0-9a-f]{32}$/);
    assert.equal(traceIdOf('at-1'), traceIdOf('at-1'));
    assert.notEqual(traceIdOf('at-1'), traceIdOf('at-2'));
  });
});
