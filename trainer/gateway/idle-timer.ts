/** Aborts work that takes longer than its time, or when the caller aborts. One instance per try: it does not recover. */
export class IdleTimer {
  readonly signal: AbortSignal;
  readonly #expiry = new AbortController();
  readonly #caller: AbortSignal;
  readonly #timeoutMs: number;

  constructor(timeoutMs: number, caller: AbortSignal) {
    this.#timeoutMs = timeoutMs;
    this.#caller = caller;
    this.signal = AbortSignal.any([caller, this.#expiry.signal]);
  }

  /** Time runs only inside `work`: a stream that waits for a slow reader of ours does not expire. */
  async limit<T>(work: () => Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.#expiry.abort(), this.#timeoutMs);
    try {
      return await work();
    } finally {
      clearTimeout(timer);
    }
  }

  get expired(): boolean {
    return this.#expiry.signal.aborted;
  }

  get abortedByCaller(): boolean {
    return this.#caller.aborted;
  }
}
