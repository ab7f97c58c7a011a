import { TrainerError } from '../protocol/errors.ts';
import type { Ending } from './classify.ts';
import type { AttemptWorker } from './attempt.ts';
import type { Connection, Connections } from './connections.ts';
import { WorkerMessage, type LoadMessage, type RunMessage, type WorkerSpan } from './messages.ts';

/** A worker that a debugger starts: it may stand still as long as it likes, and belongs to whoever started it. */
export class DebuggedWorker implements AttemptWorker {
  /** Lets it in, once. */
  readonly token: string;
  /** Resolves when the agent is loaded. Rejects with TrainerError 'agent', or 'cancelled' when it goes before that. */
  readonly ready: Promise<void>;
  readonly #onSpan: (kind: 'begin' | 'end', span: WorkerSpan) => void;
  readonly #forget: () => void;
  #connection: Connection | null = null;
  #becomeReady!: () => void;
  #fail!: (error: TrainerError) => void;
  #end: ((ending: Ending) => void) | null = null;
  #attempt_id = '';
  #over: Ending | null = null;

  constructor(connections: Connections, load: LoadMessage, onSpan: (kind: 'begin' | 'end', span: WorkerSpan) => void) {
    this.#onSpan = onSpan;
    this.ready = new Promise((resolve, reject) => {
      this.#becomeReady = resolve;
      this.#fail = reject;
    });
    this.ready.catch(() => undefined); // whoever waits for it hears of it
    const { token, forget } = connections.expect((connection) => {
      this.#connection = connection;
      connection.onLine = (line) => this.#read(line);
      connection.onTooLong = () => connection.close();
      connection.onClose = () => this.kill('', { kind: 'cancelled' });
      connection.send(load);
    });
    this.token = token;
    this.#forget = forget;
  }

  run(message: RunMessage): Promise<Ending> {
    return new Promise((resolve) => {
      if (this.#over) return resolve(this.#over);
      this.#attempt_id = message.rollout.attempt_id;
      this.#end = resolve;
      this.#connection!.send(message);
    });
  }

  /** Ends it by closing its connection: a worker without one leaves. */
  kill(_reason: string, ending: Ending): void {
    if (this.#over) return;
    this.#over = ending;
    this.#forget();
    this.#connection?.close();
    this.#fail(new TrainerError('cancelled', 'Debugging was stopped before the agent had been loaded.'));
    this.#end?.(ending);
  }

  #read(line: string): void {
    const message = parse(line);
    switch (message?.type) {
      case 'ready': return this.#becomeReady();
      case 'load_failed': return this.#fail(new TrainerError('agent', message.message));
      case 'begin':
      case 'end': return this.#onSpan(message.type, message.span);
      case 'result':
        if (message.attempt_id === this.#attempt_id) this.#end?.({ kind: 'result', result: message.result });
        return;
      default: this.kill('', { kind: 'died', reason: 'The worker sent something else than messages on the channel to the trainer.' });
    }
  }
}

function parse(line: string): WorkerMessage | undefined {
  try {
    return WorkerMessage.parse(JSON.parse(line));
  } catch {
    return undefined; // the caller says so
  }
}
