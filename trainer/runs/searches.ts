import { TrainerError } from '../protocol/errors.ts';
import { Optimization, type Candidate } from '../protocol/optimize.ts';
import { handDraft, newCandidate } from '../optimize/pool.ts';
import { checkText } from '../prompts/check-text.ts';
import type { Store } from '../store/store.ts';
import { requireUsable } from './prompt-rules.ts';

/** What one can do to a search while it goes. */
export interface LiveSearch {
  /** Ends the search with the best so far; the report follows. */
  finish(): void;
  /** A candidate written by hand, as it is before it has been scored. */
  add(parent: string, texts: Record<string, string>): Candidate;
  pin(candidate_id: string, pinned: boolean): Candidate;
}

/** The searches of a workspace: those that go on, and what is recorded of any. */
export class Searches {
  readonly #store: Store;
  readonly #live = new Map<string, LiveSearch>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Makes a search reachable while `use` runs. */
  async during<T>(run_id: string, search: LiveSearch, use: () => Promise<T>): Promise<T> {
    this.#live.set(run_id, search);
    try {
      return await use();
    } finally {
      this.#live.delete(run_id);
    }
  }

  live(run_id: string): LiveSearch | undefined {
    return this.#live.get(run_id);
  }

  get(run_id: string): Optimization {
    const record = this.#store.getSearch(run_id);
    if (!record) throw new TrainerError('not_found', `Run ${run_id} has no record of a search for prompts. It may not have begun yet.`);
    return Optimization.parse({ ...record, candidates: this.#store.listCandidates(run_id) });
  }

  candidate(run_id: string, candidate_id: string): Candidate {
    const candidate = this.#store.listCandidates(run_id).find((each) => each.candidate_id === candidate_id);
    if (!candidate) throw new TrainerError('not_found', `Run ${run_id} has no candidate ${candidate_id}.`);
    return candidate;
  }

  /** Records a candidate written by hand for a search that is over; the search scores it when it goes on. */
  addRecorded(run_id: string, parent: string, texts: Record<string, string>): Candidate {
    const { best, spent, candidates, prompts } = this.get(run_id);
    const from = this.candidate(run_id, parent);
    const draft = handDraft(from, texts);
    requireUsable(prompts, draft.texts, from.texts, (prompt, { [prompt.prompt_id]: text = prompt.text }) => checkText(prompt, text));
    const candidate = newCandidate(candidates, draft, spent);
    this.#store.putCandidate(run_id, candidate, { best, spent });
    return candidate;
  }

  /** Pins a candidate of a search that is over. */
  pinRecorded(run_id: string, candidate_id: string, pinned: boolean): Candidate {
    const candidate = { ...this.candidate(run_id, candidate_id), pinned };
    const { best, spent } = this.get(run_id);
    this.#store.putCandidate(run_id, candidate, { best, spent });
    return candidate;
  }
}
