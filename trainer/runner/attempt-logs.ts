import type { Store } from '../store/store.ts';

export type LogStream = 'stdout' | 'stderr';

const limit = 256 * 1024; // characters kept of each stream
const batch = 8 * 1024;

/** What an attempt prints, bounded, on its way to the store. */
export class AttemptLogs {
  readonly #append: (stream: LogStream, text: string) => void;
  readonly #kept = { stdout: 0, stderr: 0 };
  readonly #pending = { stdout: '', stderr: '' };
  #over = false;

  constructor(store: Pick<Store, 'appendLog'>, rollout_id: string, attempt_id: string) {
    this.#append = (stream, text) => store.appendLog(rollout_id, attempt_id, stream, text);
  }

  write(stream: LogStream, text: string): void {
    const before = this.#kept[stream];
    if (before > limit) return;
    this.#kept[stream] += text.length;
    const room = limit - before;
    this.#pending[stream] += text.length <= room ? text : `${text.slice(0, room)}\n[agent-trainer] The rest of ${stream} is not kept: more than ${limit / 1024} KiB.\n`;
    if (this.#over || this.#pending[stream].length >= batch) this.flush();
  }

  /** A line of our own. */
  note(text: string): void {
    this.write('stderr', `[agent-trainer] ${text}\n`);
  }

  flush(): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      const text = this.#pending[stream];
      this.#pending[stream] = '';
      if (text) this.#append(stream, text);
    }
  }

  /** The attempt is over; what still comes is written at once. */
  finish(): void {
    this.#over = true;
    this.flush();
  }
}
