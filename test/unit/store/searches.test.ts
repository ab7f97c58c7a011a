import assert from 'node:assert/strict';
import { newCandidate } from '../../../trainer/optimize/pool.ts';
import { noCost } from '../../../trainer/optimize/meter.ts';
import type { SearchRecord } from '../../../trainer/protocol/optimize.ts';
import type { TrainerEvent } from '../../../trainer/protocol/rpc.ts';
import { openStore, type Store } from '../../../trainer/store/store.ts';

describe('store: searches', () => {
  let store: Store;
  const run_id = 'ru-1';
  const record: SearchRecord = { run_id, algorithm: 'gepa', budget: { rollouts: 9 }, prompts: [], parts: { train: ['a'], validation: ['b'], test: ['c'] }, best: 'c0', spent: noCost(), fingerprint: 'f', stopped: null };
  const source = newCandidate([], { parents: [], origin: 'source', round: 0, texts: { p: 'x' } }, noCost());
  const child = newCandidate([source], { parents: [source], origin: 'reflection', round: 1, texts: { p: 'y' } }, noCost());
  beforeEach(() => {
    store = openStore(':memory:');
    store.createRun({ run_id, kind: 'optimize', status: 'running', phase: 'searching', agent: 'a.py', config: {}, create_time: 1, end_time: null, error: null, result: null });
    store.saveSearch(record);
  });
  afterEach(() => store.close());

  it('a candidate is recorded, replaced and told, together with what was best and spent by then', () => {
    const events: TrainerEvent[] = [];
    store.onEvent((event) => events.push(event));
    const now = { best: 'c1', spent: { ...noCost(), rollouts: 4 } };
    store.putCandidate(run_id, source, { best: 'c0', spent: noCost() });
    store.putCandidate(run_id, child, { best: 'c0', spent: noCost() });
    store.putCandidate(run_id, { ...source, status: 'kept' }, now);
    assert.deepEqual(store.listCandidates(run_id), [{ ...source, status: 'kept' }, child]);
    assert.deepEqual(store.getSearch(run_id), { ...record, ...now });
    assert.deepEqual(events.at(-1), { type: 'candidate', run_id, candidate: { ...source, status: 'kept' }, ...now });
  });

  it('answers stay in order; all of it goes with the run', () => {
    const answers = ['a', 'b'].map((key) => ({ key, messages: [{ role: 'user' as const, content: key }], text: key, input_tokens: 1, output_tokens: 2 }));
    for (const answer of answers) store.addAnswer(run_id, answer);
    store.putCandidate(run_id, source, { best: 'c0', spent: noCost() });
    assert.deepEqual(store.listAnswers(run_id), answers);
    store.deleteRun(run_id);
    assert.deepEqual([store.listAnswers(run_id), store.listCandidates(run_id), store.getSearch(run_id)], [[], [], undefined]);
  });

  it('rollouts are found by their key, whichever run made them', () => {
    store.enqueueRollouts([{ input: 1, metadata: { cache_key: 'k' } }, { input: 2, run_id, metadata: { cache_key: 'k' } }, { input: 3, metadata: { cache_key: 'other' } }, { input: 4 }]);
    assert.deepEqual(store.listRollouts({ cache_key: 'k' }).map(({ input }) => input), [1, 2]);
    assert.deepEqual(store.listRollouts({ cache_key: 'k', status_in: ['succeeded'] }), []);
  });
});
