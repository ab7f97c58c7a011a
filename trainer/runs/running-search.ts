import { Lab, type Evaluator } from '../optimize/lab.ts';
import { Meter } from '../optimize/meter.ts';
import { handDraft } from '../optimize/pool.ts';
import type { CheckTexts } from '../optimize/proposer.ts';
import { reserveFor } from '../optimize/report.ts';
import type { Parts } from '../optimize/parts.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { Candidate, OptimizeRequest, SearchRecord } from '../protocol/optimize.ts';
import { requireUsable } from './prompt-rules.ts';
import type { LiveSearch } from './searches.ts';
import { notice, type Session } from './session.ts';

export interface RunningSearchOptions {
  session: Session;
  signal: AbortSignal;
  request: OptimizeRequest;
  record: SearchRecord;
  parts: Parts;
  seed: number;
  evaluator: Evaluator;
  check: CheckTexts;
}

/** One search while it goes: the lab it works in, its record in the store, and what a person does to it meanwhile. */
export class RunningSearch implements LiveSearch {
  readonly lab: Lab;
  readonly #options: RunningSearchOptions;
  #record: SearchRecord;
  #winner: Candidate | null = null;
  #warned = false;
  readonly #scoring = new Set<Promise<unknown>>();

  constructor(options: RunningSearchOptions) {
    const { session: { store, run_id, control }, signal, request, record, parts, seed, evaluator } = options;
    this.#options = options;
    this.#record = record;
    const recorded = store.listCandidates(run_id);
    const over = record.stopped !== null;
    const began = performance.now();
    const pausedBefore = control.paused_s;
    const meter = new Meter({
      budget: request.budget, prices: request.prices,
      reserve: reserveFor(parts, request.budget.rollouts),
      // A search that goes on is repeated from what is kept, and counts again what it did then; only its time is gone.
      ...(over ? { spent: record.spent } : {}),
      seconds: () => record.spent.seconds + (performance.now() - began) / 1000 - (control.paused_s - pausedBefore),
    });
    this.lab = new Lab({
      prompts: record.prompts, train: parts.train, validation: parts.validation, seed, evaluator, meter, signal,
      recorded,
      changed: (candidate) => this.#keep(candidate),
    });
    for (const candidate of recorded) {
      if (over || candidate.origin === 'hand') this.lab.pool.take(candidate);
      if (candidate.origin === 'hand' && candidate.status === 'proposed') this.#score(candidate);
    }
    this.lab.source();
  }

  get over(): SearchRecord['stopped'] {
    return this.#record.stopped;
  }

  /** Writes down that the search has ended: from now on it is only reported. */
  ended(stopped: NonNullable<SearchRecord['stopped']>): void {
    this.#save({ stopped });
  }

  chose(winner: Candidate): void {
    this.#winner = winner;
    this.#save({});
  }

  /** Resolves when all that was written by hand has its score. */
  async handScored(): Promise<void> {
    while (this.#scoring.size > 0) await Promise.all(this.#scoring);
  }

  finish(): void {
    this.lab.end('stopped');
  }

  add(parent: string, texts: Record<string, string>): Candidate {
    const from = this.#require(parent);
    const draft = handDraft(from, texts);
    requireUsable(this.#record.prompts, draft.texts, from.texts, this.#options.check);
    const candidate = this.lab.pool.add(draft);
    this.#score(candidate);
    return candidate;
  }

  pin(candidate_id: string, pinned: boolean): Candidate {
    return this.lab.pool.update(this.#require(candidate_id), { pinned });
  }

  #score(candidate: Candidate): void {
    const scoring = this.lab.measure(candidate, 'validation', this.lab.validation).then(() => {
      this.lab.pool.update(candidate, { status: 'kept' });
      this.#scoring.delete(scoring);
    });
    scoring.catch(() => undefined); // told to `handScored`
    this.#scoring.add(scoring);
  }

  #require(candidate_id: string): Candidate {
    const candidate = this.lab.pool.byId(candidate_id);
    if (!candidate) throw new TrainerError('not_found', `Run ${this.#record.run_id} has no candidate ${candidate_id}.`);
    return candidate;
  }

  #keep(candidate: Candidate): void {
    const { session, session: { store, run_id } } = this.#options;
    store.putCandidate(run_id, candidate, this.#now);
    if (candidate.origin === 'source' && candidate.status === 'kept') this.#warnIfBroken(candidate, session);
  }

  /** A failure of the agent scores 0, as a bad prompt would have it: a bug must not look like one. */
  #warnIfBroken({ results }: Candidate, session: Session): void {
    if (this.#warned || results.length === 0 || results.some(({ outcome }) => outcome !== 'agent_error')) return;
    this.#warned = true;
    notice(session, 'warning', `With the prompts of today the agent failed on all ${results.length} tasks so far, the first time with: ${results[0]?.reason ?? 'no reason given'}. If the prompts are not to blame, end the search and mend the agent first.`);
  }

  #save(patch: Partial<SearchRecord>): void {
    this.#record = { ...this.#record, ...this.#now, ...patch };
    this.#options.session.store.saveSearch(this.#record);
  }

  get #now(): Pick<SearchRecord, 'best' | 'spent'> {
    return { best: (this.#winner ?? this.lab.best()).candidate_id, spent: this.lab.meter.spent };
  }
}
