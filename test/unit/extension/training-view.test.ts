import assert from 'node:assert/strict';
import type { RunEntry } from '../../../src/runs/run-book.ts';
import { chartsView } from '../../../src/views/charts-view.ts';
import { funnelView, stepView } from '../../../src/views/step-view.ts';
import { trainingView } from '../../../src/views/training-view.ts';
import { axisRange } from '../../../webview/shared/axis.ts';
import type { Run, StepMetrics } from '../../../trainer/protocol/run.ts';
import { aRollout, aRun, aStep } from '../../fixtures/recorded-runs.ts';

const entry = (run: Run, steps: StepMetrics[] = [], more: Partial<RunEntry> = {}): RunEntry => ({ run, steps, notices: [], rollouts: null, waiting: null, ...more });
const result = { run_id: 'r', steps: 2, before: { mean_reward: 0.4, n: 240 }, after: { mean_reward: 0.9, n: 240 }, difference: { mean: 0.5, ci95: [0.42, 0.58], p_value: 0.0001 }, checkpoint: '/c', wall_s: 60 };

describe('the training view', () => {
  const now = aRun('train').create_time + 61;

  it('says how far a training run is and how long it will take', () => {
    const view = trainingView(entry(aRun('train'), [aStep(0), aStep(1)], { rollouts: { ended: 64, total: 128 } }), now);
    assert.deepEqual(view.progress, { done: (2 + 0.375) / 12, text: 'Step 3 of 12 · 64 of 128 rollouts · about 57 s left' });
    assert.equal(view.facts.at(-1)?.value, '1 min 01 s');
  });

  it('does not invent a progress it does not know', () => {
    assert.deepEqual(trainingView(entry(aRun('train', { phase: 'evaluating-before' })), now).progress, { done: null, text: '' });
    assert.equal(trainingView(entry(aRun('train', { status: 'failed', error: 'why' })), now).progress, null);
  });

  it('shows a missing value as missing, never as zero', () => {
    const view = trainingView(entry(aRun('train'), [aStep(0, { reward_mean: null, reward_std: null, loss: null, entropy: null, grad_norm: null, staleness: null, updated: false })]), now);
    const cell = (title: string) => view.table.rows[0]?.cells[view.table.columns.findIndex((column) => column.title === title)];
    assert.deepEqual(['Reward', 'Loss', 'Entropy', 'Gradient', 'KL', 'Staleness', 'Trained'].map(cell), ['–', '–', '–', '–', '–', '–', 'skipped']);
    assert.deepEqual(view.charts.charts.find((chart) => chart.key === 'reward')?.series, [[null]]);
  });

  it('puts the comparison on held-out tasks first', () => {
    const view = trainingView(entry(aRun('train', { status: 'succeeded', phase: 'done', result }), [aStep(0), aStep(1)]), now);
    assert.deepEqual(view.facts[0], { label: 'Held-out reward, 240 tasks', value: '0.400 → 0.900', note: '+0.500, 95 % CI +0.420 to +0.580, p = 1.0e-4' });
  });

  it('offers what can be done with the run now', () => {
    const actionsOf = (patch: Partial<Run>) => {
      const { pause, resume, stop, runners } = trainingView(entry(aRun('train', patch)), now).actions;
      return [pause, resume, stop, runners];
    };
    assert.deepEqual(actionsOf({ runners: 8 }), [true, false, true, 8]);
    assert.deepEqual(actionsOf({ pause: 'pausing', runners: 8 }), [false, true, true, 8]);
    assert.deepEqual(actionsOf({ pause: 'paused', runners: 8 }), [false, true, true, 8]);
    for (const status of ['failed', 'cancelled', 'interrupted'] as const) assert.deepEqual(actionsOf({ status, runners: 8 }), [false, true, false, null]);
    assert.deepEqual(actionsOf({ status: 'succeeded' }), [false, false, false, null]);
    assert.equal(trainingView(entry(aRun('dev', { status: 'failed' })), now).actions.resume, false);
  });

  it('says that it is paused, and what it waits for', () => {
    assert.deepEqual([aRun('train', { pause: 'pausing' }), aRun('train', { pause: 'paused' })].map((run) => { const { header } = trainingView(entry(run), now); return [header?.status, header?.statusText]; }),
      [['running', 'Pausing: what is under way finishes first'], ['paused', 'Paused · Training']]);
    const view = trainingView(entry(aRun('train'), [], { waiting: { on: 'the agent', since: now - 185 } }), now);
    assert.deepEqual([view.waiting, view.notices], ['Waiting on the agent for 3 min 05 s.', []]);
  });
});

describe('the charts', () => {
  const chart = (view: ReturnType<typeof chartsView>, key: string) => view.charts.find((each) => each.key === key) ?? assert.fail(key);

  it('are of each metric of the run, with its unit', () => {
    const view = chartsView([entry(aRun('train'), [aStep(0, { kl: 0.01 }), aStep(3)])]);
    assert.deepEqual(view.steps, [1, 4]);
    assert.deepEqual(view.charts.map(({ title, unit, series }) => [title, unit, series[0]?.[0]]), [
      ['Reward', '', 0.43], ['Response length', 'tokens', 23.4], ['Entropy', 'nats/token', 0.61], ['KL to the reference', 'nats/token', 0.01], ['Clipped', '% of tokens', 0.018 * 100],
      ['Gradient norm', 'before clipping', 0.84], ['Rollouts', 'per second', 31.2], ['Generated tokens', 'per second', 2480], ['Staleness', 'policy updates', 0], ['Loss', '', -0.012],
    ]);
    assert.deepEqual(chart(view, 'reward').rings, [[null, 0.55 - 0.03]]);
  });

  it('of what only DPO has are there when a run has it', () => {
    const view = chartsView([entry(aRun('train'), [aStep(0, { reward_accuracy: 0.5, reward_margin: 0.1 }), aStep(1, { reward_accuracy: 0.75, reward_margin: -0.2 })]), entry(aRun('train', { run_id: 'ru-other' }), [aStep(0)])]);
    assert.deepEqual([chart(view, 'accuracy').series, chart(view, 'margin').series], [[[50, 75], [null, null]], [[0.1, -0.2], [null, null]]]);
  });

  it('of a run that learns from examples begin with the loss, and show nothing of rollouts', () => {
    const learned = (step: number, patch: Partial<StepMetrics> = {}): StepMetrics => aStep(step, { reward_mean: null, response_tokens_mean: null, kl: null, clip_fraction: null, staleness: null, rollouts_per_s: 0, tokens_per_s: 0, val_reward: null, loss: 2 - step / 2, train_s: 2, trained_tokens: 500, funnel: { rollouts: 0, calls: 0, with_token_ids: 0, scored: 0, trainable: 0, used: 0, losses: [] }, ...patch });
    const keys = (...steps: StepMetrics[]) => chartsView([entry(aRun('train'), steps)]).charts.map(({ key }) => key);
    assert.deepEqual(keys(learned(0), learned(1)), ['loss', 'entropy', 'gradient']);
    assert.deepEqual(keys(learned(0, { reward_accuracy: 0.5, reward_margin: 0, entropy: null }), learned(1, { val_reward: 0.5 })), ['loss', 'reward', 'accuracy', 'margin', 'entropy', 'gradient']);
    assert.deepEqual(keys(learned(0, { entropy: null })), ['loss', 'gradient']);
    const view = trainingView(entry(aRun('train'), [learned(0), learned(1)]), 0);
    assert.equal(view.step, null);
    assert.deepEqual(view.table.columns.map(({ title }) => title), ['Step', 'Held-out', 'Trained', 'Loss', 'Entropy', 'Gradient', 'Update']);
    assert.deepEqual(view.facts.slice(0, 2), [{ label: 'Loss, last step', value: '1.500', note: '−0.500 since step 1' }, { label: 'Trained tokens per second', value: '250', note: '500 tokens a step' }]);
    assert.equal(chartsView([entry(aRun('train'), [learned(0)])]).runs[0]?.note, 'loss 2 at step 1');
  });

  it('put the held-out measurements before and after training at the ends', () => {
    const view = chartsView([entry(aRun('train', { status: 'succeeded', phase: 'done', result }), [aStep(0), aStep(1)])]);
    assert.deepEqual(view.steps, [0, 1, 2]);
    assert.deepEqual([chart(view, 'reward').series, chart(view, 'reward').rings], [[[null, 0.43, 0.47]], [[0.4, null, 0.9]]]);
    assert.deepEqual(chart(view, 'entropy').series, [[null, 0.61, 0.59]]);
  });

  it('of several runs share their steps; each keeps its own values and a colour', () => {
    const other = entry(aRun('train', { run_id: 'ru-other', create_time: 1_764_560_000 }), [aStep(0, { reward_mean: 0.1 }), aStep(1, { reward_mean: 0.2 }), aStep(2, { reward_mean: 0.3 })]);
    const view = chartsView([entry(aRun('train'), [aStep(1)]), other]);
    assert.deepEqual(view.steps, [1, 2, 3]);
    assert.deepEqual(chart(view, 'reward').series, [[null, 0.47, null], [0.1, 0.2, 0.3]]);
    assert.deepEqual(view.runs.map(({ run_id, color, note }) => [run_id, color, note]), [['ru-0a1b2c3d4e5f', 0, 'reward 0.470 at step 2'], ['ru-other', 1, 'reward 0.300 at step 3']]);
    assert.notEqual(view.runs[0]?.title, view.runs[1]?.title);
  });

  it('have an axis that fits: 0 to 1 for rewards, never below 0 without need', () => {
    assert.deepEqual([axisRange(0.2, 0.4, true), axisRange(null, null, false)], [[0, 1], [0, 1]]);
    const [low, high] = axisRange(10, 20, false);
    assert.ok(low > 8 && low < 10 && high > 20 && high < 22);
    assert.deepEqual(axisRange(0, 0, false), [0, 1]);
    assert.ok(axisRange(3, 3, false)[1] > 3 && axisRange(-1, 1, true)[0] < -1);
  });
});

describe('a step in detail', () => {
  const run = aRun('train');
  const scored = (index: number, task_id: string, reward: number) => aRollout(run, index, { outcome: 'scored', reward }, { step: 4, mode: 'train', task_id });
  const rollouts = [scored(1, 'a', 0), scored(2, 'a', 2), aRollout(run, 3, { outcome: 'timeout' }, { step: 4, mode: 'train', task_id: 'b' }), scored(4, 'b', 1), { ...scored(5, 'c', 1), mode: 'val' as const }, { ...scored(6, 'c', 1), step: 3 }];

  it('is the newest unless another is chosen; null before the first', () => {
    const steps = [aStep(0), aStep(4)];
    const of = (step: number | null) => { const view = stepView(steps, { step, loss: null }, null); return [view?.step, view?.follows, view?.groups]; };
    assert.deepEqual([of(null), of(0), of(9)], [[4, true, null], [0, false, null], [4, false, null]]);
    assert.equal(stepView([], { step: null, loss: null }, null), null);
  });

  it('lists the training rollouts of the step by task, with their rewards relative to the step', () => {
    const groups = stepView([aStep(4)], { step: null, loss: null }, rollouts)?.groups ?? [];
    assert.deepEqual(groups.map(({ samples }) => samples.map(({ label, level, state }) => [label, level, state])), [
      [['0.00', 0, 'scored'], ['2.00', 1, 'scored']], [['timed out', null, 'failed'], ['1.00', 0.5, 'scored']],
    ]);
  });

  it('shows the rollouts of a chosen loss alone', () => {
    const lossOf = (reason: string) => aStep(4).funnel.losses.findIndex((loss) => loss.reason === reason);
    const view = stepView([aStep(4)], { step: null, loss: lossOf('agent_match') }, rollouts);
    assert.deepEqual(view?.groups?.flatMap(({ samples }) => samples.map((sample) => sample.rollout_id)), ['ro-000000000003']);
    assert.equal(stepView([aStep(4)], { step: null, loss: 99 }, rollouts)?.loss, null); // of another step
  });

  it('draws the funnel: heights by share of calls, below the share of rollouts that made any', () => {
    const { stages, losses } = funnelView({ rollouts: 10, calls: 16, with_token_ids: 12, scored: 8, trainable: 8, used: 0, losses: [
      { stage: 'calls', reason: 'no LLM call', count: 2, rollout_ids: ['a', 'b'] }, { stage: 'with_token_ids', reason: 'no token ids', count: 4, rollout_ids: ['c'] }, { stage: 'used', reason: 'group without variance', count: 8, rollout_ids: ['d', 'e', 'f'] },
    ] });
    assert.deepEqual(stages.map(({ title, count, share }) => [title, count, Math.round(share * 100) / 100]), [['Rollouts', 10, 1], ['LLM calls', 16, 0.8], ['With token ids', 12, 0.6], ['Scored', 8, 0.4], ['Trainable', 8, 0.4], ['Used in update', 0, 0]]);
    assert.deepEqual(losses.map(({ stage, count, unit, rollouts: many }) => [stage, count, unit, many]), [[1, 2, 'rollouts', 2], [2, 4, 'calls', 1], [5, 8, 'calls', 3]]);
    assert.ok(funnelView({ rollouts: 0, calls: 0, with_token_ids: 0, scored: 0, trainable: 0, used: 0, losses: [] }).stages.every(({ share }) => share === 0));
  });
});
