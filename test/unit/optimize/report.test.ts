import assert from 'node:assert/strict';
import { Merges } from '../../../trainer/optimize/merge.ts';
import { heldOutReport, selectWinner } from '../../../trainer/optimize/report.ts';
import { transcriptOf } from '../../../trainer/optimize/transcript.ts';
import { GepaConfig } from '../../../trainer/protocol/optimize.ts';
import { attr, type Span } from '../../../trainer/protocol/span.ts';
import { evaluatorOf, makeLab, promptNamed, scored, tasksNamed, type Reward } from './support.ts';

const noisy = (truth: number): ((task: { id: string }) => number) => ({ id }) => truth + (Number(id.slice(1)) % 3 - 1) * 0.1;

describe('optimize: choice and report', () => {
  it('candidates that the noise does not tell apart are run on tasks that none of them comes from', async () => {
    const evaluator = evaluatorOf(({ p }) => (p === 'lucky' ? 0.2 : 0.8));
    const lab = makeLab({ evaluator, rollouts: 200, train: tasksNamed('t', 20) });
    lab.source();
    const lucky = scored(lab, { p: 'lucky' }, [1, 1, 0, 1, 0, 1, 0, 1]);
    const solid = scored(lab, { p: 'solid' }, [1, 0, 1, 1, 0, 0, 1, 0]);
    assert.equal(lab.best(), lucky);
    assert.equal(await selectWinner(lab), solid);
    assert.ok(evaluator.ran.length <= 20);
    assert.ok(evaluator.ran.every((ran) => ran.includes(' train ')));
  });

  it('a clear winner costs no further rollouts', async () => {
    const evaluator = evaluatorOf(() => 0);
    const lab = makeLab({ evaluator, rollouts: 200 });
    scored(lab, { p: 'start' }, Array<number>(8).fill(0.1));
    const best = scored(lab, { p: 'new' }, Array<number>(8).fill(0.9));
    assert.equal(await selectWinner(lab), best);
    assert.deepEqual(evaluator.ran, []);
  });

  it('a candidate that led when the budget cut it off is run on the rest first', async () => {
    const evaluator = evaluatorOf(({ p }) => (p === 'cut off' ? 0.9 : 0.1));
    const lab = makeLab({ evaluator, rollouts: 200 });
    scored(lab, { p: 'new' }, Array<number>(8).fill(0.4));
    const cut = scored(lab, { p: 'cut off' }, [0.9, 0.9, 0.9]);
    lab.pool.update(scored(lab, { p: 'behind' }, [0.3, 0.3, 0.3]), { status: 'dropped' });
    lab.pool.update(cut, { status: 'dropped' });
    assert.equal(await selectWinner(lab), cut);
    assert.deepEqual([cut.status, cut.validation!.n, evaluator.ran.length], ['kept', 8, 5]);
  });

  it('reports source and winner task by task, and says better only when it is shown', async () => {
    const report = async (truth: number) => {
      const lab = makeLab({ reward: ({ p }, task) => (p === 'start' ? noisy(0.4)(task) : noisy(truth)(task)) });
      lab.source();
      const winner = scored(lab, { p: 'new' }, Array<number>(8).fill(0.9));
      return { report: await heldOutReport(lab, winner, tasksNamed('x', 12)), lab, winner };
    };
    const better = await report(0.7);
    assert.deepEqual([better.report.improved, better.report.baseline.n, better.report.difference!.mean.toFixed(3)], [true, 12, '0.300']);
    assert.deepEqual([better.winner.test!.n, better.lab.source().test!.n], [12, 12]);
    assert.equal((await report(0.4)).report.improved, false);
  });

  it('the source as winner: its score, and no difference', async () => {
    const lab = makeLab({ reward: () => 0.5 });
    const { baseline, best, difference, improved } = await heldOutReport(lab, lab.source(), tasksNamed('x', 4));
    assert.deepEqual({ baseline, best, difference, improved }, { baseline: { score: 0.5, n: 4 }, best: { score: 0.5, n: 4 }, difference: null, improved: false });
  });

  it('a task without a score on a side is left out of both', async () => {
    const reward: Reward = ({ p }, task) => (p === 'new' && task.id === 'x0' ? null : task.id === 'x0' ? 1 : 0.5);
    const lab = makeLab({ reward });
    lab.source();
    const report = await heldOutReport(lab, scored(lab, { p: 'new' }, Array<number>(8).fill(0.9)), tasksNamed('x', 4));
    assert.deepEqual([report.baseline, report.best], [{ score: 0.5, n: 3 }, { score: 0.5, n: 3 }]);
  });
});

describe('optimize: merge attempts', () => {
  const both = { a: 'a1', b: 'b1' };
  const attempt = async (worth: number, use_merge = true) => {
    const lab = makeLab({ prompts: [promptNamed('a', 'a0'), promptNamed('b', 'b0')], reward: (texts) => (texts['a'] === both.a && texts['b'] === both.b ? worth : 0) });
    const root = scored(lab, { a: 'a0', b: 'b0' }, Array<number>(8).fill(0));
    scored(lab, { a: 'a1', b: 'b0' }, [1, 1, 1, 1, 0, 0, 0, 0], { parents: [root] });
    scored(lab, { a: 'a0', b: 'b1' }, [0, 0, 0, 0, 1, 1, 1, 1], { parents: [root] });
    const merges = new Merges(lab, GepaConfig.parse({ use_merge }));
    assert.equal(await merges.attempt(1), false, 'none is due');
    merges.due();
    return { lab, made: await merges.attempt(2), again: (merges.due(), await merges.attempt(3)), child: lab.pool.all.find(({ origin }) => origin === 'merge') };
  };

  it('joins two that complement each other, once', async () => {
    const { made, again, child, lab } = await attempt(1);
    assert.deepEqual([made, again, child!.texts, child!.parents, child!.status], [true, false, both, ['c1', 'c2'], 'kept']);
    assert.equal(lab.best(), child);
  });

  it('drops a merge that does worse than its parents on five balanced tasks', async () => {
    const { child } = await attempt(0.1);
    assert.deepEqual([child!.status, child!.results.length], ['dropped', 5]);
  });

  it('makes none unless asked to', async () => assert.equal((await attempt(1, false)).made, false));
});

describe('optimize: transcripts', () => {
  const call = (input: unknown[], output: unknown[], extra = {}): Span => ({
    rollout_id: 'r', attempt_id: 'a', sequence_id: 1, trace_id: 't', span_id: 's', parent_id: null, name: 'chat m', status: { status_code: 'OK' }, start_time: 0, end_time: 1, events: [], resource: { attributes: {} },
    attributes: { [attr.operationName]: 'chat', [attr.inputMessages]: JSON.stringify(input), [attr.outputMessages]: JSON.stringify(output), ...extra },
  });
  const user = { role: 'user', content: 'Which room?' };
  const asks = { role: 'assistant', content: null, tool_calls: [{ id: '1', type: 'function', function: { name: 'rooms', arguments: '{"day":1}' } }] };

  it('tell task, messages and tool calls, each once, without system prompts', () => {
    const spans = [call([{ role: 'system', content: 'SECRET' }, user], [asks]), call([{ role: 'system', content: 'SECRET' }, user, asks, { role: 'tool', tool_call_id: '1', content: '[4]' }], [{ role: 'assistant', content: 'Room 4' }])];
    assert.equal(transcriptOf({ q: 1 }, spans, 1000), 'Task: {"q":1}\nuser: Which room?\nassistant: calls rooms({"day":1})\ntool: [4]\nassistant: Room 4');
  });

  it('stay within their length, beginning and end kept; a broken call does no harm', () => {
    const text = transcriptOf('short', [call([{ role: 'user', content: 'x'.repeat(9000) }], [{ role: 'assistant', content: 'the end' }]), call([], [], { [attr.inputMessages]: 'not json' })], 400);
    assert.ok(text.length < 460, String(text.length));
    assert.match(text, /^Task: short/);
    assert.match(text, /the end$/);
    assert.match(text, /characters left out/);
  });
});
