import assert from 'node:assert/strict';
import type { Gateway, OpenCall } from '../../../trainer/gateway/gateway.ts';
import type { TrainerEvent } from '../../../trainer/protocol/rpc.ts';
import { StallWatch, waitingFor } from '../../../trainer/runs/stall-watch.ts';
import { openStore, type Store } from '../../../trainer/store/store.ts';

describe('what a run waits for', () => {
  let store: Store;
  let calls: OpenCall[];
  const gateway = { openCalls: () => calls } as unknown as Gateway;
  const run_id = 'ru-1';

  beforeEach(() => {
    calls = [];
    store = openStore(':memory:');
    store.createRun({ run_id, kind: 'train', status: 'running', phase: 'training', agent: 'a', config: {}, create_time: 0, end_time: null, error: null, result: null });
  });
  afterEach(() => store.close());

  const waiting = (phase: 'starting' | 'training' = 'training') => waitingFor({ store, gateway }, { run_id, phase }).on;

  it('is told by what is under way', () => {
    assert.equal(waiting('starting'), 'the model and the agent to load');
    assert.equal(waiting(), 'the policy update');
    const [rollout] = store.enqueueRollouts([{ run_id, input: 1 }, { run_id, input: 2 }, { run_id: null, input: 3 }]);
    assert.equal(waiting(), 'an agent process');
    store.dequeueRollout('w', { run_id });
    assert.equal(waiting(), 'the agent');
    calls = [{ rollout_id: 'ro-other', since: 1 }, { rollout_id: null, since: 1 }];
    assert.equal(waiting(), 'the agent');
    calls.push({ rollout_id: rollout!.rollout_id, since: 2 });
    assert.equal(waiting(), 'the model');
    assert.match(waitingFor({ store, gateway }, { run_id, phase: 'training' }).detail, new RegExp(`^1 LLM call not answered yet, the oldest of rollout ${rollout!.rollout_id}$`));
  });

  it('is told again and again while nothing moves, and its end once', async () => {
    const notices: Extract<TrainerEvent, { type: 'notice' }>[] = [];
    let heard = (): void => undefined;
    store.onEvent((event) => {
      if (event.type === 'notice') notices.push(event);
      heard();
    });
    const until = (count: number) => new Promise<void>((resolve) => { heard = () => { if (notices.length >= count) resolve(); }; heard(); });
    const watch = new StallWatch({ store, gateway }, run_id, 20);
    try {
      await until(2);
      assert.deepEqual(notices.slice(0, 2).map(({ level, waiting: on }) => [level, on?.on]), [['warning', 'the policy update'], ['warning', 'the policy update']]);
      assert.match(notices[0]!.message, /^Waiting on the policy update for 1 min: all rollouts of the step have ended\.$/);
      assert.equal(notices[0]!.waiting?.since, notices[1]!.waiting?.since);
      const before = notices.length;
      store.updateRun(run_id, { phase: 'evaluating-after' });
      assert.deepEqual(notices.slice(before).map(({ level, message, waiting: on }) => [level, message, on]), [['info', 'Going on after 1 min.', null]]);
      store.updateRun(run_id, { phase: 'done' });
      assert.equal(notices.length, before + 1);
    } finally {
      watch.end();
    }
  });

  it('a paused run waits for nothing', async () => {
    store.updateRun(run_id, { pause: 'paused' });
    const notices: string[] = [];
    store.onEvent((event) => { if (event.type === 'notice') notices.push(event.message); });
    const watch = new StallWatch({ store, gateway }, run_id, 5);
    await new Promise((resolve) => { setTimeout(resolve, 60); }); // time for many notices
    watch.end();
    assert.deepEqual(notices, []);
  });
});
