import type { RecordedOperation } from './types.ts';

/** Results of an earlier attempt by operation and input. Each is handed out once, in the order they were recorded. */
export class RecordedOperations {
  readonly #queues = new Map<string, RecordedOperation[]>();

  constructor(recorded: readonly RecordedOperation[] = []) {
    for (const operation of recorded) {
      const key = keyOf(operation.name, operation.input);
      const queue = this.#queues.get(key);
      if (queue) queue.push(operation);
      else this.#queues.set(key, [operation]);
    }
  }

  take(name: string, input: string): RecordedOperation | undefined {
    return this.#queues.get(keyOf(name, input))?.shift();
  }
}

function keyOf(name: string, input: string): string {
  return JSON.stringify([name, input]);
}
