import assert from 'node:assert/strict';
import { candidateDetail } from '../../../src/views/prompts/candidate-detail.ts';
import { candidateRows } from '../../../src/views/prompts/candidate-rows.ts';
import { costChart } from '../../../src/views/prompts/cost-chart.ts';
import { lensState, lensText } from '../../../src/views/prompts/lens-text.ts';
import { textParts, wordDiff } from '../../../src/views/prompts/prompt-text.ts';
import { budgetView, searchOutcome, verdictOf } from '../../../src/views/prompts/search-result.ts';
import { appliedCandidate, historyItem, searchView } from '../../../src/views/prompts/search-view.ts';
import { defaultSetup, patched, requestOf, setupView } from '../../../src/views/prompts/setup-view.ts';
import { taskRows } from '../../../src/views/prompts/task-rows.ts';
import { OptimizeRequest, type OptimizeResult } from '../../../trainer/protocol/optimize.ts';
import type { Run } from '../../../trainer/protocol/run.ts';
import { aCandidate, aCost, aPrompt, aResult, aSearch, aSearchRun, aTaskResult, candidates, roomPrompt } from '../../fixtures/recorded-search.ts';

const id = 'agent.py#PICK';
const done = (patch: Partial<Run> = {}): Run => aSearchRun({ status: 'succeeded', phase: 'done', result: aResult(), ...patch });
const entry = (run: Run) => ({ run, steps: [], notices: [], rollouts: null, waiting: null });
const choice = { candidate_id: null, base: 'source' as const, source: { [id]: roomPrompt }, titles: new Map<string, string>() };

describe('the text of a prompt', () => {
  it('is cut where its variables stand, the longest placeholder first', () => {
    const variables = [{ name: 'a', placeholder: '{a}' }, { name: 'a.b', placeholder: '{a}{b}' }];
    assert.deepEqual(textParts('x {a}{b} {c} {a}', variables).map(({ text, variable }) => [text, variable]), [['x ', null], ['{a}{b}', 'a.b'], [' {c} ', null], ['{a}', 'a']]);
    assert.deepEqual(textParts('', variables), []);
  });

  it('is compared word by word, and gives both texts back', () => {
    const [before, after] = ['Pick one  room,\nplease.', 'Pick the smallest room,\nplease!'];
    const diff = wordDiff(before, after) ?? [];
    const side = (other: string): string => diff.filter(({ kind }) => kind !== other).map(({ text }) => text).join('');
    assert.deepEqual([side('added'), side('removed')], [before, after]);
    assert.ok(diff.some(({ kind, text }) => kind === 'same' && text.includes('room')));
    assert.deepEqual(wordDiff('Answer now.', 'Answer with one name now.')?.filter(({ kind }) => kind === 'added'), [{ kind: 'added', text: 'with one name ' }]);
    assert.equal(wordDiff(before, before), null);
  });
});

describe('the search tree', () => {
  const rows = candidateRows(aSearch(), 'c0');

  it('puts each candidate below the first it came from', () => {
    assert.deepEqual(rows.map(({ candidate_id, level, position, siblings }) => [candidate_id, level, position, siblings]),
      [['c0', 1, 1, 1], ['c1', 2, 1, 3], ['c4', 3, 1, 2], ['c5', 3, 2, 2], ['c2', 2, 2, 3], ['c3', 2, 3, 3]]);
  });

  it('says what each scored, and of one that has not why', () => {
    assert.deepEqual(rows.map(({ candidate_id, score, wins, losses }) => [candidate_id, score, wins, losses]),
      [['c0', '0.500', 0, 0], ['c1', '0.625', 1, 0], ['c4', '0.857', 2, 0], ['c5', '0.750', 3, 1], ['c2', '', 0, 0], ['c3', '0.67 → 0.33', 0, 0]]);
    const [rejected] = rows.filter(({ state }) => state === 'rejected');
    assert.match(rejected?.hint ?? '', /^Rejected: The variable \{request\} is gone.*\n\nThe text is longer/s);
    assert.match(rows.find(({ candidate_id }) => candidate_id === 'c4')?.hint ?? '', /^Repaired: The text had 2,431 characters/);
    assert.equal(rows.find(({ candidate_id }) => candidate_id === 'c5')?.note, 'kept, merged from Candidate 1, Candidate 4');
  });

  it('marks the best and the one that is in the source', () => {
    assert.deepEqual([rows.filter(({ best }) => best), rows.filter(({ applied }) => applied)].map((marked) => marked.map(({ candidate_id }) => candidate_id)), [['c4'], ['c0']]);
  });

  it('keeps a candidate whose parent is not there', () => {
    assert.deepEqual(candidateRows(aSearch({ candidates: [candidates.original, { ...candidates.seats, parents: ['gone'] }] }), null).map(({ level }) => level), [1, 1]);
  });
});

describe('a candidate', () => {
  it('shows tasks won before lost, and compares none without a score', () => {
    const rows = taskRows(candidates.merged, candidates.original, new Map([['v1', 'Twelve people on Monday']]));
    assert.deepEqual(rows.map(({ task_id, baseline, candidate, change }) => [task_id, baseline, candidate, change]).slice(0, 4), [['v1', '0.00', '1.00', 'won'], ['v3', '0.00', '1.00', 'won'], ['v4', '0.00', '1.00', 'won'], ['v0', '1.00', '0.00', 'lost']]);
    assert.equal(rows[0]?.title, 'Twelve people on Monday');
    const open = taskRows(candidates.best, candidates.original, new Map()).find(({ task_id }) => task_id === 'v4');
    assert.deepEqual([open?.candidate, open?.change], ['timeout', 'open']);
  });

  it('takes the mean of a task’s rollouts, and tells the parts apart', () => {
    const twice = aCandidate('c9', 'x', [1, 0], { results: [aTaskResult(1, { part: 'test', task_id: 'h0', rollout_id: 'a' }), aTaskResult(0, { part: 'test', task_id: 'h0', rollout_id: 'b' }), aTaskResult(null, { part: 'train', task_id: 't0', outcome: 'infra_error', rollout_id: '' })] });
    assert.deepEqual(taskRows(twice, candidates.original, new Map()).map(({ part, candidate, rollout_id }) => [part, candidate, rollout_id]), [['train', 'infra error', null], ['test', '0.50', 'b']]);
  });

  it('is compared with the source as it is now, or with its parent', () => {
    const detail = (base: 'source' | 'parent', source: Record<string, string> | null) => candidateDetail(aSearch(), candidates.best, { ...choice, base, source, applied: false, editable: true, active: true });
    const removed = (base: 'source' | 'parent', source: Record<string, string> | null) => detail(base, source).texts[0]?.diff?.filter(({ kind }) => kind === 'removed').map(({ text }) => text).join('|');
    assert.equal(detail('source', { [id]: candidates.best.texts[id] ?? '' }).texts[0]?.diff, null);
    assert.match(removed('parent', null) ?? '', /seats everyone/);
    assert.doesNotMatch(removed('source', { [id]: roomPrompt }) ?? '', /seats everyone/);
    assert.deepEqual(detail('source', null).actions, { apply: false, pin: true, edit: true });
    assert.equal(candidateDetail(aSearch(), candidates.rejected, { ...choice, applied: false, editable: true, active: true }).actions.apply, false);
  });
});

describe('the outcome of a search', () => {
  it('is an improvement only when the interval says so', () => {
    assert.deepEqual(verdictOf(done(), aSearch()), { tone: 'good', title: '0.550 → 0.810', text: 'Better: +0.260, 95 % CI +0.110 to +0.420, p = 0.003, on 20 held-out tasks. The budget was used up.' });
    const chance = verdictOf(done({ result: aResult({ improved: false, difference: { mean: 0.02, ci95: [-0.05, 0.09], p_value: 0.4 } }) }), aSearch());
    assert.equal(chance?.title, 'No improvement found');
    assert.match(chance.text, /could be chance: 0\.550 → 0\.810, \+0\.020, 95 % CI −0\.050 to \+0\.090/);
  });

  it('is no more than what was measured: no winner, nothing tried, too few tasks, no score', () => {
    const of = (result: Partial<OptimizeResult>, search = aSearch()) => { const verdict = verdictOf(done({ result: aResult({ improved: false, difference: null, ...result }) }), search); return `${verdict?.title}: ${verdict?.text}`; };
    const source = { ...aResult().best, candidate_id: 'c0' };
    assert.match(of({ best: source }), /^No improvement found: No text scored better than the original: 0\.550 on 20 held-out tasks/);
    assert.match(of({}), /^No improvement shown: .*fewer than two held-out tasks/);
    assert.match(of({ best: source }, aSearch({ candidates: [candidates.original] })), /^No new text was tried: The original scores 0\.550/);
    assert.match(of({ best: source }, aSearch({ candidates: [candidates.original, candidates.rejected] })), /^No new text was tried: The only proposal broke a rule/);
    const unscored = { baseline: { score: null, n: 0 }, best: { ...source, score: null, n: 0 } };
    assert.match(of(unscored), /^Nothing could be scored/);
    assert.equal(searchOutcome(done({ result: aResult({ improved: false, difference: null, ...unscored }) })), 'nothing scored');
  });

  it('is not made up for a search that ended without a report', () => {
    assert.equal(verdictOf(aSearchRun(), aSearch()), null);
    assert.match(verdictOf(aSearchRun({ status: 'cancelled' }), aSearch())?.text ?? '', /ahead on validation: 0\.500 → 0\.857.*they flatter/);
    assert.match(verdictOf(aSearchRun({ status: 'failed' }), aSearch({ best: 'c0' }))?.text ?? '', /No candidate had beaten the original/);
  });

  it('is a measurement when nothing was searched', () => {
    assert.equal(verdictOf(done(), aSearch({ algorithm: 'baseline' }))?.title, 'Score 0.550');
  });
});

describe('the cost of a search', () => {
  it('shows what is used of each limit', () => {
    assert.deepEqual(budgetView(aSearch({ budget: { rollouts: 200, minutes: 10 } })).map(({ text, used }) => [text, Math.round(used * 100)]), [['90 of 200 rollouts', 45], ['1 min 21 s of 10 min 00 s', 14]]);
    assert.deepEqual(budgetView(aSearch({ budget: { usd: 1 } })), [], 'without prices the money is not known');
  });

  it('is the x of the curve, in the unit of the budget, and the line never falls', () => {
    const chart = costChart(aSearch());
    assert.deepEqual(chart.line.map(({ x, y }) => [x, Number(y.toFixed(3))]), [[8, 0.5], [25, 0.625], [58, 0.857], [84, 0.857]]);
    assert.deepEqual([chart.unit, chart.limit, chart.points.length], ['rollouts', 200, 4]);
    assert.deepEqual(costChart(aSearch({ budget: { minutes: 3 } })).points.map(({ x }) => x), [8, 25, 58, 84].map((rollouts) => (rollouts * 0.9) / 60));
    assert.equal(costChart(aSearch({ budget: { usd: 3 } })).points.length, 0);
  });

  it('does not let a dropped candidate raise the line', () => {
    const lucky = aCandidate('c6', 'x', [1, 1], { status: 'dropped', spent: aCost(60) });
    assert.equal(Math.max(...costChart(aSearch({ candidates: [candidates.original, lucky] })).line.map(({ y }) => y)), 0.5);
  });
});

describe('the view of a search', () => {
  it('offers what can be done now', () => {
    const actions = (run: Run) => Object.entries(searchView(entry(run), aSearch(), choice, 0).actions).flatMap(([name, possible]) => (possible ? [name] : []));
    assert.deepEqual(actions(aSearchRun()), ['pause', 'finish', 'stop']);
    assert.deepEqual(actions(aSearchRun({ pause: 'paused' })), ['resume', 'finish', 'stop']);
    assert.deepEqual(actions(done()), []);
  });

  it('does not go on trying what an ended search has left', () => {
    const search = aSearch({ candidates: [candidates.original, { ...candidates.seats, status: 'proposed' }] });
    const states = (run: Run) => searchView(entry(run), search, choice, 0).tree?.map(({ state }) => state);
    assert.deepEqual([states(aSearchRun()), states(aSearchRun({ status: 'cancelled' }))], [['kept', 'proposed'], ['kept', 'unfinished']]);
  });

  it('selects the best until another is chosen', () => {
    assert.equal(searchView(entry(aSearchRun()), aSearch(), choice, 0).selected?.candidate_id, 'c4');
    assert.equal(searchView(entry(aSearchRun()), aSearch(), { ...choice, candidate_id: 'c2' }, 0).selected?.rejection, candidates.rejected.rejection?.message);
    assert.equal(searchView(entry(aSearchRun()), null, choice, 0).tree, null);
  });

  it('knows which candidate is in the source, and offers to go back', () => {
    assert.equal(appliedCandidate(aSearch(), { [id]: roomPrompt }), 'c0');
    assert.equal(appliedCandidate(aSearch(), { [id]: 'edited by hand' }), null);
    assert.equal(appliedCandidate(aSearch(), null), null);
    const item = (text: string) => { const { applied, apply, restore } = historyItem(done(), aSearch(), { [id]: text }, false); return [applied, apply, restore]; };
    assert.deepEqual(item(roomPrompt), [false, true, false]);
    assert.deepEqual(item(candidates.best.texts[id] ?? ''), [true, false, true]);
    assert.deepEqual(item('edited by hand'), [false, true, true]);
  });
});

describe('the line above a prompt', () => {
  const of = (text: string, run: Run, search = aSearch()) => lensText(lensState(id, text, [{ run, search }]));
  it('tells a score only for the text it was measured with', () => {
    assert.equal(lensText(lensState(id, roomPrompt, [])), '$(wand) Optimize prompt');
    assert.equal(of('edited by hand', done()), '$(wand) Optimize prompt');
    assert.equal(of(roomPrompt, done({ result: aResult({ improved: false }) })), '$(wand) Optimize (0.55)');
    assert.equal(of(candidates.best.texts[id] ?? '', done()), '$(wand) Optimize (0.81)');
    assert.equal(of(candidates.seats.texts[id] ?? '', done()), '$(wand) Optimize (0.63)');
  });

  it('tells progress, and then what waits to be reviewed', () => {
    assert.equal(of(roomPrompt, aSearchRun()), '$(sync~spin) Optimizing: 90 of 200 rollouts · best 0.86');
    assert.equal(of(roomPrompt, done()), '$(lightbulb-sparkle) 0.55 → 0.81 · Review');
    assert.equal(lensText(lensState('other.py#X', roomPrompt, [{ run: done(), search: aSearch() }])), '$(wand) Optimize prompt');
  });
});

describe('the set-up of a search', () => {
  const known = { prompts: [aPrompt(), aPrompt({ prompt_id: 'prompts/tone.md' })], nameOf: (path: string) => path, config: 'agent-trainer.json', starting: false };

  it('shows every default, and can start once it has tasks', () => {
    const view = setupView(defaultSetup(), known);
    assert.deepEqual([view.algorithm, view.limits.rollouts, view.defaultMaxChars, view.problem], ['gepa', 200, 2000, 'Choose the tasks to learn from.']);
    assert.deepEqual(view.fields.map(({ key, value }) => [key, value]), [['gradient_batch_size', 4], ['val_batch_size', 16], ['beam_width', 4], ['branch_factor', 4], ['beam_rounds', 3], ['reflection_minibatch_size', 3], ['use_merge', true], ['max_merge_invocations', 5]]);
    assert.ok(view.fields.every(({ help, label }) => help !== '' && label !== ''));
    const ready = { ...defaultSetup(), data: 'tasks.jsonl' };
    assert.equal(setupView(ready, known).problem, null);
    assert.match(setupView(ready, { ...known, config: null }).problem ?? '', /model that answers/);
    assert.match(setupView(patched(ready, { limits: { rollouts: null } }), known).problem ?? '', /one limit/);
    assert.match(setupView(patched(ready, { limits: { usd: 2 } }), known).problem ?? '', /prices/);
  });

  it('asks the trainer for what was changed, and refuses values out of range', () => {
    let setup = patched({ ...defaultSetup(), data: 'tasks.jsonl' }, { algorithm: 'apo', field: { algorithm: 'apo', key: 'beam_width', value: 2 }, limits: { minutes: 5 } });
    setup = patched(setup, { field: { algorithm: 'apo', key: 'beam_rounds', value: 0 } });
    setup = patched(setup, { prompt: { prompt_id: 'prompts/tone.md', chosen: false } });
    const request = OptimizeRequest.parse(requestOf(setup, known.prompts));
    assert.deepEqual([request.algorithm, request.apo.beam_width, request.apo.beam_rounds, request.budget, request.prompts], ['apo', 2, 3, { rollouts: 200, minutes: 5 }, [id]]);
    setup = patched(setup, { prompt: { prompt_id: 'prompts/tone.md', chosen: true } });
    assert.equal(requestOf(setup, known.prompts).prompts, undefined);
    assert.deepEqual(OptimizeRequest.parse(requestOf({ ...defaultSetup(), data: 'x' }, known.prompts)), OptimizeRequest.parse({}), 'defaults are those of the protocol');
  });
});
