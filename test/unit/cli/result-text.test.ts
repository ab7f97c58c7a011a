import assert from 'node:assert/strict';
import { resultText } from '../../../trainer/cli/result-text.ts';
import type { OptimizeResult } from '../../../trainer/protocol/optimize.ts';
import { aResult, aSearchRun } from '../../fixtures/recorded-search.ts';

describe('the result of a search on a terminal', () => {
  const of = (patch: Partial<OptimizeResult>): string => resultText(aSearchRun({ result: aResult(patch) }));
  const source = { ...aResult().best, candidate_id: 'c0' };

  it('shows source and winner on the held-out tasks, and why the search ended', () => {
    const lines = of({}).split('\n');
    assert.deepEqual(lines.slice(0, 5), ['held-out tasks  baseline     c4', 'mean reward        0.550  0.810', 'tasks scored          20     20', 'difference +0.260, 95 % interval +0.110 to +0.420, p = 0.0030: better', '']);
    assert.match(lines[5]!, /^The budget was used up: 6 candidates, 200 rollouts/);
  });

  it('says no more than what was measured', () => {
    const nothing = { improved: false, difference: null, best: source };
    assert.match(of(nothing), /No improvement found/);
    assert.match(of({ ...nothing, candidates: 1, stopped: 'finished' }), /Only measured: no new prompt was tried\.\n\n1 candidate,/);
    assert.match(of({ ...nothing, candidates: 1 }), /No new prompt was tried before the search ended/);
    assert.match(of({ improved: false, difference: null }), /fewer than two held-out tasks were scored/);
    assert.match(of({ ...nothing, baseline: { score: null, n: 0 } }), /no held-out task got a score/);
  });
});
