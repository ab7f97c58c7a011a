import assert from 'node:assert/strict';
import { checkText } from '../../../trainer/prompts/check-text.ts';
import type { CheckTexts } from '../../../trainer/optimize/proposer.ts';
import type { Lab } from '../../../trainer/optimize/lab.ts';
import { TrainerError } from '../../../trainer/protocol/errors.ts';
import type { Candidate } from '../../../trainer/protocol/optimize.ts';
import { makeLab, makeProposer, promptNamed, says, scriptedOptimizer } from './support.ts';

const prompt = promptNamed('p', 'Answer {question} now.\n', ['{question}']);
const check: CheckTexts = (of, texts) => checkText(of, texts[of.prompt_id]!, 200);

describe('optimize: proposals', () => {
  let lab: Lab;
  let source: Candidate;
  beforeEach(() => {
    lab = makeLab({ prompts: [prompt], reward: () => 0.25 });
    source = lab.source();
  });
  const reflect = async (...answers: (string | Error)[]) => {
    const ask = scriptedOptimizer(...answers);
    const results = await lab.evaluate(source, 'train', lab.train.slice(0, 2));
    return { candidate: await makeProposer(lab, ask, check).reflect(source, prompt, results, { round: 1, branch: 0 }), asked: ask.asked };
  };

  it('shows the prompt, its placeholders, and what happened with reward and reason', async () => {
    const { candidate, asked } = await reflect(says('Answer {question} briefly.'));
    const [question] = asked[0]!;
    for (const part of ['Answer {question} now.', 'reward="0.25"', 'What happened in ro-0', 'Feedback: t0 earned 0.25.', 'written exactly so, and no other may be added: {question}', 'At most 1000 characters']) assert.ok(question!.includes(part), part);
    assert.equal(candidate!.texts['p'], 'Answer {question} briefly.\n');
    assert.deepEqual([candidate!.parents, candidate!.critique, candidate!.repairs, candidate!.cost.optimizer_calls], [['c0'], 'It could be better.', 0, 1]);
  });

  it('has a fault repaired by telling it, and keeps what was wrong', async () => {
    const { candidate, asked } = await reflect(says('Answer briefly.'), says('Answer {question} briefly.'));
    assert.deepEqual([candidate!.repairs, candidate!.rejection?.rule, candidate!.cost.optimizer_calls], [1, 'variable-missing', 2]);
    assert.equal(asked[1]!.length, 3);
    assert.match(asked[1]![2]!, /lost `\{question\}`/);
  });

  for (const [name, answer, rule] of [
    ['a lost variable', says('Answer.'), 'variable-missing'],
    ['an invented one', says('Answer {question} in {language}.'), 'variable-unknown'],
    ['too long a text', says(`{question} ${'x'.repeat(300)}`), 'too-long'],
    ['the same text', says('Answer {question} now.'), 'unchanged'],
    ['no text', 'I would rather not.', 'no-answer'],
  ] as const) {
    it(`rejects ${name} after two repairs, with the reason`, async () => {
      const { candidate, asked } = await reflect(answer);
      assert.equal(candidate, null);
      assert.equal(asked.length, 3);
      const rejected = lab.pool.byId('c1')!;
      assert.deepEqual([rejected.status, rejected.rejection?.rule, rejected.repairs, rejected.results.length], ['rejected', rule, 2, 0]);
    });
  }

  it('shows a very long answer to its author in part: it would fill the context', async () => {
    const { asked } = await reflect(says(`Answer ${'x'.repeat(200_000)}`), says('Answer {question} briefly.'));
    assert.ok(asked[1]!.join('').length < 60_000);
    assert.match(asked[1]![1]!, /<prompt>\nAnswer xx[^]*characters left out[^]*<\/prompt>$/);
  });

  it('runs no text twice', async () => {
    await reflect(says('Answer {question} briefly.'));
    const { candidate } = await reflect(says('Answer {question} briefly.'), says('Answer {question} in a word.'));
    assert.deepEqual([candidate!.rejection?.rule, candidate!.rejection?.message.includes('c1'), candidate!.repairs], ['duplicate', true, 1]);
  });

  it('passes over a question that fails, and gives up on the third in a row', async () => {
    const results = await lab.evaluate(source, 'train', lab.train.slice(0, 2));
    const proposer = makeProposer(lab, scriptedOptimizer(new TrainerError('upstream', 'The optimiser (big) failed: it is down.')), check);
    for (let time = 0; time < 2; time++) assert.equal(await proposer.reflect(source, prompt, results, { round: time, branch: 0 }), null);
    await assert.rejects(proposer.reflect(source, prompt, results, { round: 2, branch: 0 }), (error) => error instanceof TrainerError && error.code === 'upstream' && /it is down/.test(error.message));
  });

  it('shows the agent\'s other prompts, which stay', async () => {
    const other = promptNamed('q', 'The other one.');
    const both = makeLab({ prompts: [prompt, other] });
    const ask = scriptedOptimizer(says('{question}!'));
    const results = await both.evaluate(both.source(), 'train', both.train.slice(0, 1));
    const candidate = await makeProposer(both, ask).reflect(both.source(), prompt, results, { round: 1, branch: 0 });
    assert.match(ask.asked[0]![0]!, /<other name="q">\nThe other one\.\n<\/other>/);
    assert.deepEqual(candidate!.texts, { p: '{question}!\n', q: 'The other one.' });
  });
});
