import assert from 'node:assert/strict';
import { SearchBook } from '../../../src/prompts/search-book.ts';
import type { Optimization } from '../../../trainer/protocol/optimize.ts';
import type { TrainerEvent } from '../../../trainer/protocol/rpc.ts';
import { aCost, aSearch, candidates } from '../../fixtures/recorded-search.ts';

const { run_id } = aSearch();
const told = (candidate = candidates.best, best = 'c4'): TrainerEvent => ({ type: 'candidate', run_id, candidate, best, spent: aCost(60) });

/** A trainer whose answers are given by hand. */
function aBook(): { book: SearchBook; asked: ((search: Optimization | null) => void)[]; changes: string[] } {
  const asked: ((search: Optimization | null) => void)[] = [];
  const changes: string[] = [];
  const book = new SearchBook(() => new Promise((resolve) => { asked.push(resolve); }));
  book.onChanged = (id) => { changes.push(id); };
  return { book, asked, changes };
}

describe('the book of searches', () => {
  it('asks once for a search, however often it is wanted meanwhile', async () => {
    const { book, asked, changes } = aBook();
    const loading = [book.load(run_id), book.load(run_id), book.apply(told())];
    assert.equal(asked.length, 1);
    asked[0]?.(aSearch());
    await Promise.all(loading);
    await book.load(run_id);
    assert.deepEqual([asked.length, changes, book.get(run_id)?.best], [1, [run_id], 'c4']);
  });

  it('takes a candidate that is new, and one as it is now', async () => {
    const { book, asked } = aBook();
    const loading = book.load(run_id);
    asked[0]?.(aSearch({ candidates: [candidates.original], best: 'c0' }));
    await loading;
    await book.apply(told({ ...candidates.best, status: 'proposed' }, 'c0'));
    await book.apply(told());
    const search = book.get(run_id);
    assert.deepEqual(search?.candidates.map(({ candidate_id, status }) => [candidate_id, status]), [['c0', 'kept'], ['c4', 'kept']]);
    assert.deepEqual([search?.best, search?.spent.rollouts], ['c4', 60]);
  });

  it('asks again when a search that had no record has begun, and forgets one that was deleted', async () => {
    const { book, asked } = aBook();
    const early = book.load(run_id);
    asked[0]?.(null);
    await early;
    assert.equal(book.get(run_id), null);
    const begun = book.apply(told());
    asked[1]?.(aSearch());
    await begun;
    assert.equal(book.get(run_id)?.candidates.length, 6);
    await book.apply({ type: 'run-deleted', run_id });
    assert.equal(book.get(run_id), null);
  });
});
