import assert from 'node:assert/strict';
import { dryRun } from '../../../trainer/algorithms/dry-run.ts';
import { evaluate, evaluationNotices, type EvaluationSettings } from '../../../trainer/algorithms/evaluate.ts';
import { rollOut, type RolloutSource } from '../../../trainer/algorithms/rollouts.ts';
import { TrainerError } from '../../../trainer/protocol/errors.ts';
import { openStore, type Store } from '../../../trainer/store/store.ts';
import { workOff, type ScriptedEnd } from './scripted-agents.ts';

const tasks = Array.from({ length: 12 }, (_, i) => ({ id: `t${i}`, input: { i }, line: i + 1 }));
const settings: EvaluationSettings = { label: 'before', mode: 'val', step: null, sampling: { temperature: 0 }, seed: 3 };

describe('evaluation and dry run', () => {
  let store: Store;
  let controller: AbortController;
  let source: RolloutSource;
  beforeEach(() => {
    store = openStore(':memory:');
    controller = new AbortController();
    source = { store, run_id: 'ru-1', backend: 'policy', limits: { timeout_seconds: 5, max_attempts: 1 }, signal: controller.signal };
  });
  afterEach(() => store.close());
  const answer = (reward: number): ScriptedEnd => ({ outcome: 'scored', reward, calls: [{ prompt: [1], response: [2] }] });
  const indexOf = (input: unknown) => (input as { i: number }).i;

  it('scores in the order of the tasks, whichever finishes first', async () => {
    workOff(store, (rollout) => answer(indexOf(rollout.input)));
    const { scores, rollouts, wall_s } = await evaluate(source, tasks, settings);
    assert.deepEqual(scores, tasks.map((task, i) => ({ task_id: task.id, reward: i })));
    assert.ok(rollouts.every((rollout) => rollout.config.sampling.temperature === 0 && rollout.config.backend === 'policy' && rollout.mode === 'val'));
    assert.ok(wall_s >= 0 && wall_s < 60);
    assert.deepEqual(evaluationNotices('before', { scores, rollouts, wall_s }), []);
  });

  it('both sides use the same seed for a task', async () => {
    workOff(store, () => answer(1));
    const before = await evaluate(source, tasks, settings);
    const after = await evaluate(source, tasks, { ...settings, label: 'after' });
    const seeds = before.rollouts.map((rollout) => rollout.config.seed);
    assert.deepEqual(after.rollouts.map((rollout) => rollout.config.seed), seeds);
    assert.equal(new Set(seeds).size, tasks.length);
    assert.equal(store.listRollouts({ run_id: 'ru-1' }).length, 24);
  });

  it('failures of the agent score 0; infrastructure is run once more; unscored and twice broken have no score', async () => {
    const tries = new Map<number, number>();
    workOff(store, (rollout): ScriptedEnd => {
      const i = indexOf(rollout.input);
      tries.set(i, (tries.get(i) ?? 0) + 1);
      if (i === 0) return { outcome: 'agent_error', error: 'crash', calls: [] };
      if (i === 1) return { outcome: 'timeout', calls: [] };
      if (i === 2) return { outcome: 'context_overflow', calls: [] };
      if (i === 3) return { outcome: 'unscored', calls: [] };
      if (i === 4) return { outcome: 'infra_error', calls: [] };
      if (i === 5 && tries.get(i) === 1) return { outcome: 'infra_error', calls: [] };
      return answer(1);
    });
    const evaluation = await evaluate(source, tasks, settings);
    assert.deepEqual(evaluation.scores.map((score) => score.reward), [0, 0, 0, null, null, 1, 1, 1, 1, 1, 1, 1]);
    assert.deepEqual([...tries].filter(([, count]) => count > 1).map(([i]) => i).sort(), [4, 5]);
    const [failed, unscored] = evaluationNotices('before', evaluation);
    assert.match(failed ?? '', /^Evaluation before: 3 of 12 tasks failed and count as 0 \(agent_error 1, timeout 1, context_overflow 1\); the first: ro-\w+, crash$/);
    assert.match(unscored ?? '', /2 of 12 tasks have no score and are left out \(unscored 1, infra_error 1\)/);
  });

  it('takes over what an interrupted evaluation had finished', async () => {
    let bonus = 0;
    workOff(store, (rollout) => answer(bonus + indexOf(rollout.input)));
    await evaluate(source, tasks.slice(0, 7), settings);
    const finished = store.listRollouts({ run_id: 'ru-1' }).map((rollout) => rollout.rollout_id);
    bonus = 100;
    const { scores, rollouts } = await evaluate(source, tasks, settings);
    assert.deepEqual(rollouts.slice(0, 7).map((rollout) => rollout.rollout_id), finished);
    assert.deepEqual(scores.map((score) => score.reward), [0, 1, 2, 3, 4, 5, 6, 107, 108, 109, 110, 111]);
  });

  it('cancelling cancels the rollouts that are not over', async () => {
    const waiting = rollOut(source, tasks.map((task) => ({ task, mode: null, step: null, sampling: {}, seed: 1, metadata: {} })));
    controller.abort('stop');
    await assert.rejects(waiting, (error) => error instanceof TrainerError && error.code === 'cancelled');
    assert.deepEqual(new Set(store.listRollouts({}).map((rollout) => rollout.status)), new Set(['cancelled']));
  });

  it('a dry run lists every rollout, and unscored is not zero', async () => {
    workOff(store, (rollout): ScriptedEnd => (indexOf(rollout.input) < 2 ? answer(indexOf(rollout.input)) : { outcome: 'unscored', error: 'no reward', calls: [] }));
    const result = await dryRun(source, tasks.slice(0, 3), 1);
    assert.deepEqual(result.rollouts.map(({ status, reward, spans, error }) => ({ status, reward, spans, error })), [
      { status: 'scored', reward: 0, spans: 1, error: null },
      { status: 'scored', reward: 1, spans: 1, error: null },
      { status: 'unscored', reward: null, spans: 0, error: 'no reward' },
    ]);
    assert.equal(result.mean_reward, 0.5);
  });
});
