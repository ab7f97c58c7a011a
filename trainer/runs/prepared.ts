import type { Session } from './session.ts';

/** A checked request: what the run row says, and what there is to do. */
export interface Prepared {
  /** path[:name], relative to the workspace. */
  agent: string;
  /** For exact re-runs; free of keys. */
  config: unknown;
  /** Does the work and returns the run's result. Rejects with a TrainerError. */
  execute(session: Session): Promise<unknown>;
}
