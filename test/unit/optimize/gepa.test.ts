import assert from 'node:assert/strict';
import { search } from '../../../trainer/optimize/search.ts';
import type { AskOptimizer } from '../../../trainer/optimize/proposer.ts';
import { ApoConfig, GepaConfig } from '../../../trainer/protocol/optimize.ts';
import { evaluatorOf, makeLab, makeProposer, promptNamed, says, scriptedOptimizer, tasksNamed, textOf, type Reward } from './support.ts';

const settings = { apo: ApoConfig.parse({}), gepa: GepaConfig.parse({}) };
/** Every exclamation mark is worth a tenth. */
const marks: Reward = (texts) => Math.min(1, 0.3 + 0.1 * Object.values(texts).join('').split('!').length - 0.1);
/** Adds a mark to the prompt it is shown. */
const eager: AskOptimizer = async (messages) => ({ text: says(`${/<current>\n([\s\S]*?)\n<\/current>/.exec(textOf(messages[0]!))![1]}!`), input_tokens: 100, output_tokens: 20 });

describe('optimize: GEPA', () => {
  it('climbs until nothing is left to win, from the best candidates, and pays for no rollout twice', async () => {
    const evaluator = evaluatorOf(marks);
    const lab = makeLab({ evaluator });
    assert.equal(await search('gepa', lab, makeProposer(lab, eager), settings), 'finished');
    assert.equal(lab.best().texts['p'], 'start!!!!!!!');
    assert.equal(new Set(evaluator.ran).size, evaluator.ran.length);
    assert.equal(lab.meter.spent.rollouts, evaluator.ran.length);
    assert.equal(lab.meter.spent.input_tokens, 10 * evaluator.ran.length + 100 * lab.meter.spent.optimizer_calls);
    assert.ok(lab.pool.all.every((candidate) => candidate.origin === 'source' || candidate.critique === 'It could be better.'));
  });

  it('drops a child that is only as good on its batch, before it costs validation rollouts', async () => {
    const evaluator = evaluatorOf(() => 0.5);
    const lab = makeLab({ evaluator, rollouts: 30 });
    await search('gepa', lab, makeProposer(lab, eager), settings);
    const [, child] = lab.pool.all;
    assert.equal(child!.status, 'dropped');
    assert.deepEqual(child!.minibatch, { parent: 0.5, child: 0.5, n: 3 });
    assert.ok(!evaluator.ran.some((ran) => ran.startsWith('c1 validation')));
    assert.equal(lab.best().candidate_id, 'c0');
  });

  it('asks nothing about tasks that all went perfectly, and ends when nothing new comes', async () => {
    const ask = scriptedOptimizer(says('never used'));
    const lab = makeLab({ reward: (_, task) => (task.id.startsWith('t') ? 1 : 0) });
    assert.equal(await search('gepa', lab, makeProposer(lab, ask), settings), 'finished');
    assert.equal(ask.asked.length, 0);
  });

  it('tasks without a score decide nothing, in the gate and in the mean', async () => {
    const reward: Reward = ({ p }, task) => (p === 'start' ? 0.5 : task.id === 'v0' || task.id === 't1' ? null : 0.6);
    const lab = makeLab({ reward, rollouts: 40 });
    await search('gepa', lab, makeProposer(lab, scriptedOptimizer(says('new'))), settings);
    const child = lab.pool.byId('c1')!;
    assert.equal(child.status, 'kept');
    assert.deepEqual({ mean: child.validation!.mean_reward!.toFixed(2), n: child.validation!.n }, { mean: '0.60', n: 7 });
  });

  it('gives a child up that falls behind its parent on validation, before all tasks are run', async () => {
    const evaluator = evaluatorOf(({ p }, task) => (p === 'start' ? 0.5 : task.id.startsWith('t') ? 0.9 : 0.1));
    const lab = makeLab({ evaluator, rollouts: 60 });
    await search('gepa', lab, makeProposer(lab, scriptedOptimizer(says('trap'))), settings);
    assert.equal(lab.pool.byId('c1')!.status, 'dropped');
    assert.equal(evaluator.ran.filter((ran) => ran.startsWith('c1 validation')).length, 5);
  });

  it('rewrites each prompt of an agent in turn, and joins what two candidates found', async () => {
    // Each prompt helps on its own half of the tasks, by a word that only it needs.
    const reward: Reward = ({ a, b }, task) => (Number(task.id.slice(1)) % 2 === 0 ? (a!.includes('!') ? 1 : 0) : b!.includes('!') ? 1 : 0);
    const lab = makeLab({ reward, prompts: [promptNamed('a', 'first'), promptNamed('b', 'second')], rollouts: 400 });
    await search('gepa', lab, makeProposer(lab, eager), settings);
    assert.deepEqual(lab.best().texts, { a: 'first!', b: 'second!' });
  });

  it('stops within the budget, with the reserve untouched, and the best so far stands', async () => {
    for (const rollouts of [20, 33, 47]) {
      const lab = makeLab({ reward: marks, rollouts, reserve: 5 });
      assert.equal(await search('gepa', lab, makeProposer(lab, eager), settings), 'budget');
      assert.ok(lab.meter.spent.rollouts <= rollouts - 5);
      assert.ok(lab.validated(lab.best()));
      assert.ok(lab.pool.all.every(({ status }) => status !== 'proposed'));
    }
  });

  it('ends at once when it is told to', async () => {
    const lab = makeLab({ reward: marks });
    const ask: AskOptimizer = async (messages, seed, signal) => {
      if (lab.pool.all.length === 3) lab.end('stopped');
      return eager(messages, seed, signal);
    };
    assert.equal(await search('gepa', lab, makeProposer(lab, ask), settings), 'stopped');
    assert.ok(lab.best().texts['p']!.endsWith('!'));
  });

  it('repeats itself from what is remembered: same candidates, nothing run again', async () => {
    const first = makeLab({ evaluator: evaluatorOf(marks), rollouts: 80 });
    const memory = (first.evaluator as ReturnType<typeof evaluatorOf>).memory;
    await search('gepa', first, makeProposer(first, eager), settings);
    const evaluator = evaluatorOf(marks, memory);
    const again = makeLab({ evaluator, rollouts: 80, recorded: first.pool.all });
    await search('gepa', again, makeProposer(again, eager), settings);
    assert.deepEqual(evaluator.ran, []);
    assert.deepEqual(again.pool.all, first.pool.all);
    assert.deepEqual(again.meter.spent, first.meter.spent);
  });

  it('goes on where an interrupted one was', async () => {
    const whole = makeLab({ reward: marks, rollouts: 120 });
    await search('gepa', whole, makeProposer(whole, eager), settings);
    const killed = evaluatorOf(marks);
    const half = makeLab({
      evaluator: {
        ...killed,
        run: async (trial, tasks, signal) => {
          if (killed.ran.length > 40) throw new Error('killed');
          return killed.run(trial, tasks, signal);
        },
      },
      rollouts: 120,
    });
    await assert.rejects(search('gepa', half, makeProposer(half, eager), settings), /killed/);
    const evaluator = evaluatorOf(marks, killed.memory);
    const resumed = makeLab({ evaluator, rollouts: 120, recorded: half.pool.all });
    await search('gepa', resumed, makeProposer(resumed, eager), settings);
    assert.deepEqual(resumed.pool.all.map(({ texts }) => texts), whole.pool.all.map(({ texts }) => texts));
    assert.equal(resumed.meter.spent.rollouts, whole.meter.spent.rollouts);
    assert.equal(killed.ran.length + evaluator.ran.length, whole.meter.spent.rollouts);
  });

  it('a pinned candidate stays a parent though others are better everywhere', async () => {
    const lab = makeLab({ reward: marks, rollouts: 300, train: tasksNamed('t', 30) });
    const ask: AskOptimizer = async (messages, seed, signal) => {
      const first = lab.pool.byId('c1');
      if (first && !first.pinned) lab.pool.update(first, { pinned: true });
      return eager(messages, seed, signal);
    };
    await search('gepa', lab, makeProposer(lab, ask), settings);
    assert.ok(lab.pool.all.filter(({ parents }) => parents.includes('c1')).length > 1);
  });
});
