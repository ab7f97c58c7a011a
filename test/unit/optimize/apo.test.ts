import assert from 'node:assert/strict';
import { apo } from '../../../trainer/optimize/apo.ts';
import type { AskOptimizer } from '../../../trainer/optimize/proposer.ts';
import { ApoConfig } from '../../../trainer/protocol/optimize.ts';
import { evaluatorOf, makeLab, makeProposer, says, tasksNamed, textOf } from './support.ts';

const config = ApoConfig.parse({ beam_width: 2, branch_factor: 2, beam_rounds: 2, gradient_batch_size: 2, val_batch_size: 4 });
const length = ({ p }: Record<string, string>) => Math.min(0.9, p!.length / 100);

/** A critique, then an edit that adds as many letters as it was asked before. */
function growing(): AskOptimizer & { asked: string[] } {
  const asked: string[] = [];
  const ask: AskOptimizer = async (messages) => {
    const question = textOf(messages[0]!);
    asked.push(question);
    const text = question.includes('Do not write the new prompt') ? '<critique>Too short.</critique>' : says(`${/<current>\n(.*)\n<\/current>/.exec(question)![1]}${'x'.repeat(asked.length)}`);
    return { text, input_tokens: 1, output_tokens: 1 };
  };
  return Object.assign(ask, { asked });
}

describe('optimize: APO', () => {
  it('keeps the best of beam and children after each round, and runs its leader on all validation tasks', async () => {
    const evaluator = evaluatorOf(length);
    const lab = makeLab({ evaluator, validation: tasksNamed('v', 8) });
    const optimizer = growing();
    await apo(lab, makeProposer(lab, optimizer), config);
    assert.deepEqual(lab.pool.all.map(({ candidate_id, parents, round }) => `${candidate_id} ${parents.join()} ${round}`), [
      'c0  0', 'c1 c0 1', 'c2 c0 1', 'c3 c0 1', 'c4 c0 1', // the beam is the source alone at first
      'c5 c4 2', 'c6 c3 2', 'c7 c4 2', 'c8 c3 2',
    ]);
    const kept = lab.pool.kept.filter(({ origin }) => origin !== 'source').map(({ candidate_id }) => candidate_id);
    assert.deepEqual(kept, ['c7', 'c8']);
    assert.equal(lab.best().candidate_id, 'c8'); // it grew last
    assert.equal(new Set(evaluator.ran).size, evaluator.ran.length, 'nothing is paid for twice');
  });

  it('asks twice per child: the critique goes into the edit', async () => {
    const lab = makeLab({ reward: length });
    const optimizer = growing();
    await apo(lab, makeProposer(lab, optimizer), { ...config, beam_rounds: 1 });
    assert.equal(optimizer.asked.length, 8);
    assert.match(optimizer.asked[1]!, /<critique>\nToo short\.\n<\/critique>/);
    assert.ok(lab.pool.all.slice(1).every(({ critique }) => critique === 'Too short.'));
    assert.match(optimizer.asked[1]!, /Rewrite the prompt/);
    assert.match(optimizer.asked[3]!, /Change the prompt as little/);
  });

  it('children that are clearly behind run only a quarter of the batch', async () => {
    const evaluator = evaluatorOf(length);
    const lab = makeLab({ evaluator, validation: tasksNamed('v', 16) });
    await apo(lab, makeProposer(lab, growing()), ApoConfig.parse({ beam_rounds: 1, beam_width: 2 }));
    const runs = (id: string) => evaluator.ran.filter((ran) => ran.startsWith(`${id} validation`)).length;
    assert.deepEqual(['c1', 'c2', 'c7', 'c8'].map(runs), [4, 4, 16, 16]);
  });
});
