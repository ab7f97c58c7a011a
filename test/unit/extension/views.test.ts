import assert from 'node:assert/strict';
import { compact, clip, duration, oneLine } from '../../../src/views/format.ts';
import { trainingView } from '../../../src/views/training-view.ts';
import { barState, barText } from '../../../src/status-bar.ts';
import type { RunEntry } from '../../../src/runs/run-book.ts';
import type { Run, StepMetrics } from '../../../trainer/protocol/run.ts';
import { aRun, aStep } from '../../fixtures/recorded-runs.ts';

const entry = (run: Run, steps: StepMetrics[] = [], rollouts: RunEntry['rollouts'] = null): RunEntry => ({ run, steps, notices: [], rollouts });

describe('the training view', () => {
  const now = aRun('train').create_time + 61;

  it('says how far a training run is and how long it will take', () => {
    const view = trainingView(entry(aRun('train'), [aStep(0), aStep(1)], { ended: 64, total: 128 }), now);
    assert.deepEqual(view.progress, { done: (2 + 0.375) / 12, text: 'Step 3 of 12 · 64 of 128 rollouts · about 57 s left' });
    assert.equal(view.facts.at(-1)?.value, '1 min 01 s');
    assert.deepEqual(view.curve, { step: [1, 2], reward: [0.43, 0.47], validation: [null, null] });
  });

  it('does not invent a progress it does not know', () => {
    assert.deepEqual(trainingView(entry(aRun('train', { phase: 'evaluating-before' })), now).progress, { done: null, text: '' });
    assert.equal(trainingView(entry(aRun('train', { status: 'failed', error: 'why' })), now).progress, null);
  });

  it('shows a missing value as missing, never as zero', () => {
    const view = trainingView(entry(aRun('train'), [aStep(0, { reward_mean: null, reward_std: null, loss: null, entropy: null, grad_norm: null, updated: false })]), now);
    const row = Object.fromEntries(view.table.columns.map((column, index) => [column.title, view.table.rows[0]?.[index]]));
    assert.deepEqual([row['Reward'], row['Loss'], row['Entropy'], row['Gradient'], row['KL'], row['Trained']], ['–', '–', '–', '–', '–', 'skipped']);
    assert.deepEqual(view.curve.reward, [null]);
  });

  it('names the reason of each loss beside the stage that was not reached', () => {
    const rows = trainingView(entry(aRun('train'), [aStep(0)]), now).funnel?.rows ?? [];
    assert.deepEqual(rows.map((row) => [row.stage, row.count, row.losses.map((loss) => loss.text).join()]), [
      ['Rollouts', 128, ''], ['LLM calls', 301, ''], ['With token ids', 299, '−2 the stream broke off'], ['Scored', 293, '−6 timeout'],
      ['Trainable', 214, '−79 agent_match'], ['Used in update', 171, '−43 group without variance'],
    ]);
    assert.equal(rows[0]?.share, null); // counts rollouts, the others count calls
  });

  it('puts the held-out measurements at the ends of the curve and their comparison first', () => {
    const result = { run_id: 'r', steps: 2, before: { mean_reward: 0.4, n: 240 }, after: { mean_reward: 0.9, n: 240 }, difference: { mean: 0.5, ci95: [0.42, 0.58], p_value: 0.0001 }, checkpoint: '/c', wall_s: 60 };
    const view = trainingView(entry(aRun('train', { status: 'succeeded', phase: 'done', result }), [aStep(0), aStep(1)]), now);
    assert.deepEqual(view.curve, { step: [0, 1, 2], reward: [null, 0.43, 0.47], validation: [0.4, null, 0.9] });
    assert.deepEqual(view.facts[0], { label: 'Held-out reward, 240 tasks', value: '0.400 → 0.900', note: '+0.500, 95 % CI +0.420 to +0.580, p = 1.0e-4' });
  });
});

describe('the status bar', () => {
  const workspace = (kind: string, entries: RunEntry[] = []) => ({ supervisor: { state: { kind, message: 'why' } }, book: { active: () => entries } });

  it('is a function of trainers and runs', () => {
    const training = entry(aRun('train'), [aStep(0)]);
    const cases: [ReturnType<typeof workspace>[], string][] = [
      [[], ''],
      [[workspace('stopped')], ''],
      [[workspace('starting')], '$(sync~spin) Trainer starting'],
      [[workspace('ready')], '$(rocket) Agent Trainer'],
      [[workspace('ready'), workspace('failed')], '$(error) Agent Trainer'],
      [[workspace('ready', [training])], '$(sync~spin) Training 1/12 · reward 0.43'],
      [[workspace('ready', [training]), workspace('ready', [entry(aRun('dev'))])], '$(sync~spin) Training 1/12 · reward 0.43 +1'],
      [[workspace('ready', [entry(aRun('train', { phase: 'self-check' }))])], '$(sync~spin) Training: preparing'],
    ];
    for (const [workspaces, text] of cases) assert.equal(barText(barState(workspaces)), text);
  });
});

describe('numbers as people read them', () => {
  it('formats', () => {
    assert.deepEqual([0, 42.4, 61, 3599, 3661, null].map(duration), ['0 s', '42 s', '1 min 01 s', '59 min 59 s', '1 h 01 min', '–']);
    assert.deepEqual([0, 1.7e-6, 0.5, 31.25, 2480.2, -0.0123, null].map(compact), ['0', '1.7e-6', '0.5', '31.3', '2,480', '-0.0123', '–']);
    assert.equal(oneLine(' a\n\tb ', 10), 'a b');
    assert.equal(clip('abcdef', 3), 'abc\n… 3 more characters');
  });
});
