import type { Runner } from '../runner/runner.ts';
import type { Run } from '../protocol/run.ts';
import type { Store } from '../store/store.ts';

type Steered = Pick<Runner, 'setPaused' | 'setRunners'>;

/** What may be changed of a run while it goes: pause, and how many rollouts run at a time. Both are kept with the run. */
export class RunControl {
  readonly #store: Store;
  readonly #run_id: string;
  readonly #unsubscribe: () => void;
  #runner: Steered | null = null;
  #pausedSince: number | null = null;
  #pausedBefore = 0;

  constructor(store: Store, run_id: string) {
    this.#store = store;
    this.#run_id = run_id;
    this.#unsubscribe = store.onEvent((event) => {
      if (event.type === 'rollout' && event.run_id === run_id) this.#noticeRest();
    });
  }

  /** As set last, also before an interruption; null: as configured. */
  get runners(): number | null {
    return this.#run.runners ?? null;
  }

  /** Seconds in which the run was paused and nothing moved. */
  get paused_s(): number {
    return this.#pausedBefore + (this.#pausedSince === null ? 0 : (performance.now() - this.#pausedSince) / 1000);
  }

  /** From now on `runner` obeys; it works with `n` processes. */
  steer(runner: Steered, n: number): void {
    this.#runner = runner;
    runner.setPaused(isPaused(this.#run));
    if (this.runners !== n) this.#store.updateRun(this.#run_id, { runners: n });
  }

  pause(): Run {
    if (!isPaused(this.#run)) {
      this.#runner?.setPaused(true);
      this.#store.updateRun(this.#run_id, { pause: 'pausing' });
      this.#noticeRest();
    }
    return this.#run;
  }

  resume(): Run {
    if (this.#pausedSince !== null) this.#pausedBefore += (performance.now() - this.#pausedSince) / 1000;
    this.#pausedSince = null;
    const run = this.#store.updateRun(this.#run_id, { pause: null });
    this.#runner?.setPaused(false);
    return run;
  }

  setRunners(n: number): Run {
    if (this.runners === n) return this.#run;
    this.#runner?.setRunners(n);
    return this.#store.updateRun(this.#run_id, { runners: n });
  }

  end(): void {
    this.#unsubscribe();
  }

  /**
   * It is paused when rollouts wait and none runs. None waiting means that an update goes on: it ends by itself, and the
   * next step's rollouts wait.
   */
  #noticeRest(): void {
    if (this.#run.pause !== 'pausing') return;
    const any = (...status_in: ('queuing' | 'requeuing' | 'preparing' | 'running')[]) => this.#store.listRollouts({ run_id: this.#run_id, status_in, limit: 1 }).length > 0;
    if (any('preparing', 'running') || !any('queuing', 'requeuing')) return;
    this.#pausedSince = performance.now();
    this.#store.updateRun(this.#run_id, { pause: 'paused' });
  }

  get #run(): Run {
    return this.#store.getRun(this.#run_id)!; // it is created before it is controlled, and not deleted while it goes
  }
}

function isPaused(run: Run): boolean {
  return run.pause === 'pausing' || run.pause === 'paused';
}
