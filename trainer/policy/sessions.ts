import { compile, type CompileOptions, type Executable } from '../engine/executor.ts';
import type { Graph } from '../engine/graph.ts';

export interface EngineOptions extends CompileOptions { readonly threads: number }

/** Compiled graphs by key, the least recently used released beyond `capacity`: a session keeps the memory of its largest run. */
export class SessionCache {
  readonly #options: EngineOptions;
  readonly #capacity: number;
  readonly #sessions = new Map<string, Executable>();

  constructor(options: EngineOptions, capacity: number) {
    this.#options = options;
    this.#capacity = capacity;
  }

  async get(key: string, build: () => Graph): Promise<Executable> {
    const known = this.#sessions.get(key);
    const session = known ?? await compile(build(), this.#options);
    this.#sessions.delete(key);
    this.#sessions.set(key, session);
    if (this.#sessions.size > this.#capacity) {
      const [oldest, unused] = this.#sessions.entries().next().value as [string, Executable];
      this.#sessions.delete(oldest);
      await unused.release();
    }
    return session;
  }

  async release(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    for (const session of sessions) await session.release();
  }
}
