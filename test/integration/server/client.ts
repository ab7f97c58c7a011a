import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { ClientOptions } from 'ws';
import type { RpcMethod, RpcParams, RpcResult, TrainerEvent } from '../../../trainer/protocol/rpc.ts';

interface Frame { id: number; event?: TrainerEvent; result?: unknown; error?: { code: string; message: string } }

/** A plain client of the trainer's WebSocket, as any other program would write it. */
export class Client {
  readonly socket: WebSocket;
  readonly events: TrainerEvent[] = [];
  readonly #waiting = new Map<number, (frame: Frame) => void>();
  readonly #watchers = new Set<() => void>();
  #nextId = 1;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as Frame;
      if (frame.event) this.events.push(frame.event);
      else this.#waiting.get(frame.id)?.(frame);
      for (const watcher of this.#watchers) watcher();
    });
  }

  static async connect({ url, token }: { url: string; token: string }): Promise<Client> {
    const socket = open(url, { headers: { authorization: `Bearer ${token}` } });
    await once(socket, 'open');
    return new Client(socket);
  }

  /** Rejects with `code: message`. */
  async call<M extends RpcMethod>(method: M, params: RpcParams<M>): Promise<RpcResult<M>> {
    const id = this.#nextId++;
    const frame = await new Promise<Frame>((resolve) => {
      this.#waiting.set(id, resolve);
      this.socket.send(JSON.stringify({ id, method, params }));
    });
    if (frame.error) throw new Error(`${frame.error.code}: ${frame.error.message}`);
    return frame.result as RpcResult<M>;
  }

  /** Resolves once the events received so far satisfy `enough`. */
  seen(enough: (events: TrainerEvent[]) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!enough(this.events)) return;
        this.#watchers.delete(look);
        resolve();
      };
      this.#watchers.add(look);
      look();
    });
  }

  async close(): Promise<void> {
    const closed = once(this.socket, 'close');
    this.socket.close();
    await closed;
  }
}

export function open(url: string, options: ClientOptions = {}, protocols: string[] = []): WebSocket {
  return new WebSocket(`${url.replace('http', 'ws')}/v1/ws`, protocols, options);
}
