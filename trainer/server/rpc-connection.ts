import type { WebSocket } from 'ws';
import { z } from 'zod';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import { RpcRequest, rpcMethods } from '../protocol/rpc.ts';
import type { RpcMethod } from '../protocol/rpc.ts';
import { Asks } from './asks.ts';
import { EventStream } from './event-stream.ts';
import { handlers } from './rpc-handlers.ts';
import type { RpcContext, RpcParts } from './rpc-handlers.ts';

/** WebSocket close code for a frame that is not of the protocol (RFC 6455: policy violation). */
const notOfTheProtocol = 1008;

/** One client: answers its calls, each on its own (a slow one holds up no other), and sends it the events it wants. */
export function serveConnection(socket: WebSocket, parts: RpcParts, log: (line: string) => void): void {
  const events = new EventStream((text, taken) => socket.send(text, taken));
  const asks = new Asks((frame) => socket.send(JSON.stringify(frame)));
  const stop = parts.store.onEvent((event) => events.push(event));
  socket.on('close', () => {
    stop();
    asks.close();
  });
  socket.on('error', () => socket.terminate()); // 'close' follows
  socket.on('message', (data: Buffer, isBinary) => {
    const request = isBinary ? undefined : parseRequest(data.toString());
    if (!request) return socket.close(notOfTheProtocol, 'Send JSON text frames {id, method, params}.');
    void answer(request, { ...parts, events, asks }, log).then((response) => socket.send(JSON.stringify(response)));
  });
}

async function answer({ id, method, params }: RpcRequest, context: RpcContext, log: (line: string) => void): Promise<unknown> {
  try {
    return { id, result: await call(context, method, params) };
  } catch (error) {
    if (error instanceof TrainerError) return { id, error: { code: error.code, message: error.message } };
    log(`${method} failed: ${error instanceof Error ? error.stack : String(error)}`);
    return { id, error: { code: 'internal', message: `${method} failed in the trainer: ${messageOf(error)}. Its log has the details.` } };
  }
}

async function call(context: RpcContext, method: string, params: unknown): Promise<unknown> {
  if (!isMethod(method)) throw new TrainerError('bad_input', `There is no method "${method}". Known methods: ${Object.keys(rpcMethods).join(', ')}.`);
  const parsed = rpcMethods[method].params.safeParse(params ?? {});
  if (!parsed.success) throw new TrainerError('bad_input', `The parameters of ${method} are wrong: ${z.prettifyError(parsed.error).replaceAll('\n', ' ')}`);
  // Method and parameters belong together, which the union of handlers cannot express.
  const handler = handlers[method] as (context: RpcContext, params: unknown) => unknown;
  return handler(context, parsed.data);
}

type RpcRequest = z.infer<typeof RpcRequest>;

function parseRequest(text: string): RpcRequest | undefined {
  try {
    return RpcRequest.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function isMethod(name: string): name is RpcMethod {
  return Object.hasOwn(rpcMethods, name);
}
