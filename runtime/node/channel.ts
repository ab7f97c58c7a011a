import { connect, type Socket } from 'node:net';
import type { LoadMessage, RunMessage, WorkerMessage } from './types.ts';

/** The connection to the runner: JSON lines on a loopback socket. */
export class Channel {
  readonly #socket: Socket;

  constructor(address: string, token: string, onMessage: (message: LoadMessage | RunMessage) => void) {
    const colon = address.lastIndexOf(':');
    this.#socket = connect({ host: address.slice(0, colon), port: Number(address.slice(colon + 1)), noDelay: true });
    this.#socket.setEncoding('utf8');
    let rest = '';
    this.#socket.on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop()!;
      for (const line of lines) onMessage(JSON.parse(line) as LoadMessage | RunMessage);
    });
    this.#socket.on('error', () => {}); // followed by 'close'
    this.#socket.on('close', leaveWithChildren);
    this.send({ type: 'hello', token });
  }

  send(message: WorkerMessage): void {
    this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  /** Sends what is pending, then ends the process. */
  sendAndExit(message: WorkerMessage): void {
    this.#socket.removeAllListeners('close');
    this.#socket.write(`${JSON.stringify(message)}\n`, () => process.exit(1));
  }
}

/** Ends this process and what the agent started: without the runner nothing may stay behind. */
function leaveWithChildren(): void {
  if (process.platform !== 'win32') {
    try {
      process.kill(-process.pid, 'SIGKILL'); // the runner starts each worker as leader of its own group
    } catch {
      // Not a leader (started by hand): only this process has to end.
    }
  }
  process.exit(0);
}
