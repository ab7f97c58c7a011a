import type { OptimizeAlgorithm, OptimizeRequest, SearchRecord } from '../protocol/optimize.ts';
import { apo } from './apo.ts';
import { gepa } from './gepa.ts';
import type { Lab } from './lab.ts';
import { SearchOver } from './meter.ts';
import type { Proposer } from './proposer.ts';

type Settings = Pick<OptimizeRequest, 'apo' | 'gepa'>;

/**
 * A way to search: fills the lab's pool with candidates until it has nothing more to try, or SearchOver ends it. Everything it
 * decides is a function of the seed and of what was measured and answered, so that a repeated search does the same again.
 */
type PromptSearch = (lab: Lab, proposer: Proposer, settings: Settings) => Promise<void>;

const algorithms: Record<OptimizeAlgorithm, PromptSearch> = {
  gepa: (lab, proposer, settings) => gepa(lab, proposer, settings.gepa),
  apo: (lab, proposer, settings) => apo(lab, proposer, settings.apo),
  baseline: async (lab) => void lab.source(), // there is nothing to search: the report measures it
};

/** Runs a search to its end and says why it ended. What it found is in the lab. */
export async function search(algorithm: OptimizeAlgorithm, lab: Lab, proposer: Proposer, settings: Settings): Promise<NonNullable<SearchRecord['stopped']>> {
  try {
    await algorithms[algorithm](lab, proposer, settings);
    return 'finished';
  } catch (error) {
    if (error instanceof SearchOver) return error.reason;
    throw error;
  } finally {
    for (const candidate of lab.pool.all) if (candidate.status === 'proposed' && candidate.origin !== 'hand') lab.pool.update(candidate, { status: candidate.origin === 'source' ? 'kept' : 'dropped' });
  }
}
