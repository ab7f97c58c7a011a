import assert from 'node:assert/strict';
import { compact, clip, duration, oneLine } from '../../../src/views/format.ts';
import { barState, barText } from '../../../src/status-bar.ts';
import type { RunEntry } from '../../../src/runs/run-book.ts';
import type { Run, StepMetrics } from '../../../trainer/protocol/run.ts';
import { aRun, aStep } from '../../fixtures/recorded-runs.ts';

const entry = (run: Run, steps: StepMetrics[] = [], rollouts: RunEntry['rollouts'] = null): RunEntry => ({ run, steps, notices: [], rollouts, waiting: null });

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
      [[workspace('ready', [entry(aRun('train', { pause: 'paused' }), [aStep(0)])])], '$(debug-pause) Paused: Training 1/12 · reward 0.43'],
      [[workspace('ready', [{ ...training, waiting: { on: 'the model', since: 1000 } }])], '$(watch) Waiting on the model for 4 min'],
    ];
    for (const [workspaces, text] of cases) assert.equal(barText(barState(workspaces), 1240), text);
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
