import assert from 'node:assert/strict';
import { deal } from '../../../trainer/runner/deal.ts';

const of = (...overlays: (string | null)[]) => overlays.map((overlay, index) => ({ overlay, name: `${overlay}${index}` }));
const dealt = (waiting: (string | null)[], idle: (string | null)[], loading: (string | null)[] = []) => {
  const { matches, spare, wanted } = deal(of(...waiting), of(...idle), of(...loading));
  return { matches: matches.map(({ rollout, worker }) => [rollout.name, worker.name]), spare: spare.map(({ name }) => name), wanted };
};

describe('deal', () => {
  it('gives a rollout the worker that has its overlay, whatever the order of the workers', () => {
    assert.deepEqual(dealt(['a', null], ['b', null, 'a']), { matches: [['a0', 'a2'], ['null1', 'null1']], spare: ['b0'], wanted: [] });
  });

  it('asks for one worker for each rollout that nobody fits, and counts those that load it already', () => {
    assert.deepEqual(dealt(['a', 'a', 'a'], ['b', 'a'], ['a', 'b']), { matches: [['a0', 'a1']], spare: ['b0'], wanted: ['a'] });
  });

  it('keeps a fitting worker for the rollout behind one that needs a replacement', () => {
    assert.deepEqual(dealt(['a', 'b'], ['b', 'c']), { matches: [['b1', 'b0']], spare: ['c1'], wanted: ['a'] });
  });
});
