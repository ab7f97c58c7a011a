import { Candidate, OptimizerAnswer, SearchRecord } from '../protocol/optimize.ts';
import { parseAs } from '../protocol/validate.ts';
import { fromJson, toJson, type Context } from './context.ts';

/** Begins the record of a search, or replaces it. */
export function saveSearch(context: Context, record: SearchRecord): void {
  const parsed = parseAs(SearchRecord, record, `The search of run ${record.run_id}`);
  context.write('full', () => context.db.run('INSERT INTO searches (run_id, body) VALUES (?, ?) ON CONFLICT (run_id) DO UPDATE SET body = excluded.body', parsed.run_id, toJson(parsed, 'A search')));
}

export function getSearch({ db }: Context, run_id: string): SearchRecord | undefined {
  const row = db.get('SELECT body FROM searches WHERE run_id = ?', run_id);
  return row && (fromJson(row.body) as SearchRecord);
}

/** Records a candidate as it is now, together with what the search had found and spent by then. */
export function putCandidate(context: Context, run_id: string, candidate: Candidate, now: Pick<SearchRecord, 'best' | 'spent'>): void {
  const parsed = parseAs(Candidate, candidate, `Candidate ${candidate.candidate_id}`);
  context.write('normal', () => {
    context.db.run(
      'INSERT INTO candidates (run_id, candidate_id, body) VALUES (?, ?, ?) ON CONFLICT (run_id, candidate_id) DO UPDATE SET body = excluded.body',
      run_id, parsed.candidate_id, toJson(parsed, 'A candidate'),
    );
    const record = getSearch(context, run_id);
    if (record) saveSearch(context, { ...record, ...now });
    context.emit({ type: 'candidate', run_id, candidate: parsed, ...now });
  });
}

/** In the order they were proposed. */
export function listCandidates({ db }: Context, run_id: string): Candidate[] {
  return db.all('SELECT body FROM candidates WHERE run_id = ? ORDER BY position', run_id).map(({ body }) => fromJson(body) as Candidate);
}

export function addAnswer(context: Context, run_id: string, answer: OptimizerAnswer): void {
  const parsed = parseAs(OptimizerAnswer, answer, 'An answer of the optimiser');
  context.write('normal', () => context.db.run('INSERT INTO answers (run_id, body) VALUES (?, ?)', run_id, toJson(parsed, 'An answer')));
}

/** In the order they were given. */
export function listAnswers({ db }: Context, run_id: string): OptimizerAnswer[] {
  return db.all('SELECT body FROM answers WHERE run_id = ? ORDER BY position', run_id).map(({ body }) => fromJson(body) as OptimizerAnswer);
}
