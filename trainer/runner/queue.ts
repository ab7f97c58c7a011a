import type { Store, WaitingRollout } from '../store/store.ts';
import { Overlays, type Overlay } from './overlays.ts';

/** The waiting rollouts of a run, each with the overlay it asks for. */
export class Queue {
  readonly #store: Store;
  readonly #run_id: string;
  readonly #overlays: Overlays;
  readonly #unloadable = new Map<Overlay, string>();

  /** `copies`: the folder for the files of overlays. */
  constructor(store: Store, run_id: string, copies: string) {
    this.#store = store;
    this.#run_id = run_id;
    this.#overlays = new Overlays(store, copies);
  }

  /** The agent cannot be loaded under this overlay: rollouts that ask for it fail at once, for the reason given. */
  refuse(overlay: Overlay, reason: string): void {
    this.#unloadable.set(overlay, reason);
  }

  /** The oldest first, at most `limit`. Those under an overlay that is refused fail here. Throws TrainerError 'environment' when an overlay cannot be written. */
  oldest(limit: number): (WaitingRollout & { overlay: Overlay | null })[] {
    for (;;) {
      const waiting = this.#store.waitingRollouts(this.#run_id, limit).map((rollout) => ({ ...rollout, overlay: this.#overlays.of(rollout.resources_id) }));
      const refused = waiting.filter(({ rollout_id, overlay }) => this.#failIfRefused(rollout_id, overlay));
      if (refused.length === 0) return waiting;
    }
  }

  #failIfRefused(rollout_id: string, overlay: Overlay | null): boolean {
    const error = overlay === null ? undefined : this.#unloadable.get(overlay);
    if (error === undefined) return false;
    const rollout = this.#store.dequeueRollout(this.#run_id, { rollout_id });
    if (rollout) this.#store.finishAttempt(rollout_id, rollout.attempt!.attempt_id, { outcome: 'agent_error', error });
    return true;
  }
}
