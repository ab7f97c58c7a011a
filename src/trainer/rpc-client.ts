import { WebSocket } from 'ws';
import type { z } from 'zod';
import { t } from '../../trainer/protocol/l10n.ts';
import { TrainerError, messageOf } from '../../trainer/protocol/errors.ts';
import { Ask, AskOver } from '../../trainer/protocol/endpoints.ts';
import type { ErrorCode } from '../../trainer/protocol/errors.ts';
import { RpcEvent, RpcResponse, rpcMethods } from '../../trainer/protocol/rpc.ts';
import type { RpcMethod, RpcParams, RpcResult, TrainerEvent } from '../../trainer/protocol/rpc.ts';

interface Pending { method: RpcMethod; resolve: (value: unknown) => void; reject: (error: Error) => void }

export interface Connection { url: string; token: string }

/** One WebSocket to the trainer: typed calls, and its events. Every pending call is rejected when the socket closes. */
export class RpcClient {
  /** Called for each event the connection is subscribed to. */
  onEvent: (event: TrainerEvent) => void = () => {};
  onClose: () => void = () => {};
  /** Called when the trainer wants a model of this client to answer; `call('models.answer', …)` does. */
  onAsk: (ask: Ask['ask']) => void = () => {};
  onAskOver: (ask_id: number) => void = () => {};
  /** Called for a frame that is not of the protocol; it is otherwise ignored. */
  onBadFrame: (error: unknown) => void = () => {};

  private readonly socket: WebSocket;
  private readonly pending = new Map<number, Pending>();
  private nextId = 1;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data) => { this.receive(data); });
    socket.on('close', () => { this.closed(); });
    socket.on('error', () => socket.terminate()); // 'close' follows
  }

  /** @throws TrainerError 'environment' if nobody answers there within ten seconds */
  static connect(to: Connection): Promise<RpcClient> {
    const url = `${to.url.replace(/^http/, 'ws').replace(/\/$/, '')}/v1/ws`;
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(url, { headers: { authorization: `Bearer ${to.token}` }, handshakeTimeout: 10_000, maxPayload: 256 << 20 });
      const fail = (error: unknown): void => { reject(new TrainerError('environment', t('The trainer at {0} does not answer: {1}. Run the command again to start a new one.', to.url, messageOf(error)), { cause: error })); };
      socket.once('error', fail);
      socket.once('open', () => {
        socket.off('error', fail);
        resolve(new RpcClient(socket));
      });
    });
  }

  /** @throws TrainerError with the trainer's code and message, or 'environment' if the connection ends first */
  call<M extends RpcMethod>(method: M, params: RpcParams<M>): Promise<RpcResult<M>> {
    if (this.socket.readyState !== WebSocket.OPEN) return Promise.reject(connectionLost());
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { method, resolve: resolve as (value: unknown) => void, reject });
      this.socket.send(JSON.stringify({ id, method, params }));
    });
  }

  close(): void { this.socket.close(); }

  private receive(data: WebSocket.RawData): void {
    try {
      const frame: unknown = JSON.parse(Buffer.isBuffer(data) ? data.toString('utf8') : Buffer.concat(data as Buffer[]).toString('utf8'));
      if (typeof frame === 'object' && frame !== null && 'event' in frame) this.onEvent(RpcEvent.parse(frame).event);
      else if (typeof frame === 'object' && frame !== null && 'ask' in frame) this.onAsk(Ask.parse(frame).ask);
      else if (typeof frame === 'object' && frame !== null && 'ask_over' in frame) this.onAskOver(AskOver.parse(frame).ask_over.ask_id);
      else this.settle(RpcResponse.parse(frame));
    } catch (error) {
      this.onBadFrame(error);
    }
  }

  private settle(response: z.infer<typeof RpcResponse>): void {
    const pending = this.pending.get(response.id);
    if (pending === undefined) return;
    this.pending.delete(response.id);
    if ('error' in response) {
      pending.reject(new TrainerError(response.error.code as ErrorCode, response.error.message));
      return;
    }
    const result = rpcMethods[pending.method].result.safeParse(response.result);
    if (result.success) pending.resolve(result.data);
    else pending.reject(new TrainerError('internal', t('The trainer answered {0} in an unknown form; extension and trainer are of different versions. Reload the window.', pending.method), { cause: result.error }));
  }

  private closed(): void {
    const pending = [...this.pending.values()];
    this.pending.clear();
    for (const call of pending) call.reject(connectionLost());
    this.onClose();
  }
}

function connectionLost(): TrainerError {
  return new TrainerError('environment', t('The connection to the trainer was lost. Run the command again; the log says what happened.'));
}
