import assert from 'node:assert/strict';
import { countChanges, pairByTask, pickExamples } from '../../../trainer/cli/report/pairs.ts';
import { reportHtml } from '../../../trainer/cli/report/report-html.ts';
import { AttemptedRollout } from '../../../trainer/protocol/rollout.ts';
import { Run, type TrainResult } from '../../../trainer/protocol/run.ts';

function rollout(task: string, reward: number | null, phase: string): AttemptedRollout {
  const attempt = {
    rollout_id: `${task}-${phase}`, attempt_id: 'at-1', sequence_id: 1, start_time: 1, end_time: 2, status: reward === null ? 'failed' : 'succeeded', worker_id: null,
    last_heartbeat_time: null, metadata: null, outcome: reward === null ? 'infra_error' : 'scored', reward, error: null,
  };
  return AttemptedRollout.parse({
    rollout_id: `${task}-${phase}`, run_id: 'ru-1', input: { question: `Which <b>${task}</b>?` }, task_id: task, step: null, mode: 'val', resources_id: null,
    status: 'succeeded', start_time: 1, end_time: 2, config: {}, metadata: { evaluation: phase }, attempt,
  });
}

const before = [rollout('a', 0, 'before'), rollout('b', 1, 'before'), rollout('c', 0, 'before'), rollout('d', null, 'before'), rollout('only-before', 1, 'before')];
const after = [rollout('d', 1, 'after'), rollout('c', 1, 'after'), rollout('b', 0, 'after'), rollout('a', 0, 'after')];

describe('report', () => {
  it('pairs tasks and counts what changed; an unscored side is not a loss', () => {
    const pairs = pairByTask(before, after);
    assert.deepEqual(pairs.map((pair) => pair.before.task_id), ['a', 'b', 'c', 'd']);
    assert.deepEqual(countChanges(pairs), { won: 1, lost: 1, same: 1, unscored: 1 });
    assert.deepEqual(pickExamples(pairs, 3).map((pair) => pair.before.task_id), ['b', 'c', 'a']);
  });

  it('is one page without scripts or outside links, with text from the run escaped', () => {
    const pairs = pairByTask(before, after);
    const run = Run.parse({ run_id: 'ru-1', kind: 'train', status: 'succeeded', phase: 'done', agent: 'agent.ts', config: {}, create_time: 0, end_time: 1, error: null, result: null });
    const result: TrainResult = { run_id: 'ru-1', steps: 2, before: { mean_reward: 0.25, n: 4 }, after: { mean_reward: 0.5, n: 4 }, difference: { mean: 0.25, ci95: [-0.1, 0.6], p_value: 0.5 }, checkpoint: '/x', wall_s: 61 };
    const html = reportHtml({ run, result, steps: [], pairs, examples: pickExamples(pairs, 3).map((pair) => ({ before: { rollout: pair.before, spans: [] }, after: { rollout: pair.after, spans: [] } })) });
    assert.equal(html.match(/<script|https?:|<b>a<\/b>|<link|@import/), null);
    assert.match(html, /Which &lt;b&gt;c&lt;\/b&gt;\?/);
    assert.match(html, /<b>1<\/b> went up, <b>1<\/b> went down, 1 stayed, 1 could not be compared/);
    assert.equal(html.split('class="pair"').length - 1, 3);
  });
});
