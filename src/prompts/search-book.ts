import type { Optimization } from '../../trainer/protocol/optimize.ts';
import type { TrainerEvent } from '../../trainer/protocol/rpc.ts';

/** Searches for prompts as the trainer tells them, by run. A view of the trainer's state: it decides nothing. */
export class SearchBook {
  private readonly known = new Map<string, Optimization>();
  private readonly reading = new Set<string>();
  private readonly read: (run_id: string) => Promise<Optimization | null>;
  onChanged: (run_id: string) => void = () => {};

  /** @param read asks the trainer; null: the search has not begun yet */
  constructor(read: (run_id: string) => Promise<Optimization | null>) {
    this.read = read;
  }

  get(run_id: string): Optimization | null {
    return this.known.get(run_id) ?? null;
  }

  /** Reads a search unless it is known. `anew`: even then. @throws what `read` throws */
  async load(run_id: string, anew = false): Promise<void> {
    if ((this.known.has(run_id) && !anew) || this.reading.has(run_id)) return;
    this.reading.add(run_id);
    try {
      const search = await this.read(run_id);
      if (search === null) return;
      this.known.set(run_id, search);
      this.onChanged(run_id);
    } finally {
      this.reading.delete(run_id);
    }
  }

  /** Of a search that is not known the event is only the sign that it has begun: its answer will hold what the event says. */
  async apply(event: TrainerEvent): Promise<void> {
    if (event.type === 'run-deleted') this.known.delete(event.run_id);
    if (event.type !== 'candidate') return;
    const search = this.known.get(event.run_id);
    if (search === undefined) return this.load(event.run_id);
    const { candidate, best, spent } = event;
    const at = search.candidates.findIndex(({ candidate_id }) => candidate_id === candidate.candidate_id);
    const candidates = at === -1 ? [...search.candidates, candidate] : search.candidates.with(at, candidate);
    this.known.set(event.run_id, { ...search, candidates, best, spent });
    this.onChanged(event.run_id);
  }
}
